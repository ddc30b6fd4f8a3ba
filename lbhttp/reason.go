package lbhttp

// Reason is why an attempt is made: why the attempt before it was not enough.
type Reason string

const (
	// ReasonFirst: it is the first attempt at the request.
	ReasonFirst Reason = "first"
	// ReasonUnsent: the attempt before certainly sent nothing, since it got no
	// connection.
	ReasonUnsent Reason = "unsent"
	// ReasonRefused: the server refused the HTTP/2 stream and says by that that it has
	// not acted on the request.
	ReasonRefused Reason = "refused"
	// ReasonStatus: the attempt before was answered 421 or one of Retry.Statuses.
	ReasonStatus Reason = "status"
	// ReasonTimeout: the attempt before took longer than Retry.AttemptTimeout.
	ReasonTimeout Reason = "timeout"
	// ReasonBroken: the connection failed before the response header.
	ReasonBroken Reason = "broken"
	// ReasonHedge: the attempt before is slow and goes on; see Config.Hedge.
	ReasonHedge Reason = "hedge"
)
