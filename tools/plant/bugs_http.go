package main

// httpBugs are planted in package lbhttp.
var httpBugs = []bug{
	{
		name: "the end of a body does not end the request", file: "lbhttp/respbody.go",
		old: "if err != nil {\n\t\tb.ended(err)", new: "if err != nil && err != io.EOF {\n\t\tb.ended(err)", tests: inHTTP,
	},
	{
		name: "closing a body does not end the request", file: "lbhttp/attempt.go",
		old: "a.end(context.Cause(a.caller.Context()))", new: "_ = context.Cause(a.caller.Context())", tests: inHTTP,
	},
	{
		name: "the end of the context does not free an abandoned body", file: "lbhttp/send.go",
		old: "context.AfterFunc(req.Context(), a.expire)", new: "context.AfterFunc(req.Context(), func() {})", tests: inHTTP,
	},
	{
		name: "a base that panics leaves a call in flight", file: "lbhttp/send.go",
		old: "a.abandon()\n", new: "_ = a\n", tests: inHTTP,
	},
	{
		name: "the response's Request is not the caller's", file: "lbhttp/send.go",
		old: "resp.Request = req\n", new: "", tests: inHTTP,
	},
	{
		name: "the caller's URL is changed", file: "lbhttp/sentcopy.go",
		old: "address(&c.url, to)", new: "address(req.URL, to)\n\t\tc.url = *req.URL", tests: inHTTP,
	},
	{
		name: "the Host header is the backend's", file: "lbhttp/sentcopy.go",
		old: "out.Host = req.URL.Host", new: "out.Host = c.url.Host", tests: inHTTP,
	},
	{
		name: "a status of 500 is a success", file: "lbhttp/outcome.go",
		old: "a.Status >= 500 ||", new: "a.Status > 500 ||", tests: inHTTP,
	},
	{
		name: "a caller whose own body fails hurts the backend", file: "lbhttp/outcome.go",
		old: "case a.Err != nil && a.CallerFailed:", new: "case false:", tests: inHTTP,
	},
	{
		name: "a request that may have been received is sent again", file: "lbhttp/retry.go",
		old: "case resp == nil && !idempotent(a.caller) && next.why != ReasonUnsent && next.why != ReasonRefused:", new: "case false:", tests: inHTTP,
	},
	{
		name: "a request's body goes to a second attempt after the first has read it", file: "lbhttp/bodystate.go",
		old: "bodyRead:   {onRead: bodyRead, onClose: bodyClosed, onSettle: bodyRead, onPass: bodyRefused}",
		new: "bodyRead:   {onRead: bodyRead, onClose: bodyClosed, onSettle: bodyRead, onPass: bodyPassed}", tests: inHTTP,
	},
	{
		name: "a retry goes to a backend that was tried", file: "lbhttp/tried.go",
		old: "call.Key, call.Avoid = b.key, b.all", new: "call.Key = b.key", tests: inHTTP,
	},
	{
		name: "the first attempt is counted until the last one ends", file: "lbhttp/roundtrip.go",
		old: "\t\ta.settle(err)\n", new: "\t\tdefer a.settle(err)\n", tests: inHTTP,
	},
	{
		name: "retries have no budget", file: "lbhttp/retry.go",
		old: "case !t.budget.Spend(time.Now()):", new: "case !t.budget.Spend(time.Now()) && false:", tests: inHTTP,
	},
	{
		name: "a retry that finds no backend is paid for", file: "lbhttp/roundtrip.go",
		old: "\t\t\tt.budget.Refund()\n", new: "", tests: inHTTP,
	},
	{
		name: "a connection made for one name is used for another", file: "lbhttp/conns.go",
		old: "if r == nil || r.name != n {", new: "if r == nil {", tests: inHTTP,
	},
	{
		name: "a route on which nothing came back before a timeout is kept", file: "lbhttp/attemptroute.go",
		old: "c.distrust(r)", new: "_ = c", tests: inHTTP,
	},
}
