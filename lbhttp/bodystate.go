package lbhttp

// bodyState is what has become of the caller's request body in one attempt.
type bodyState uint32

const (
	bodyFresh  bodyState = iota // nothing was read; a next attempt may take the body
	bodyLast                    // nothing was read; no attempt follows
	bodyKept                    // the base closed the body unread; a next attempt may take it
	bodyRead                    // the base has read from the body, or tried to
	bodyPassed                  // the next attempt has the body
	bodyClosed                  // the caller's body is closed

	bodyRefused // no state: the event is not allowed and changes nothing
)

// bodyEvent is what happens to the caller's request body in one attempt.
type bodyEvent uint8

const (
	onRead   bodyEvent = iota // the base reads
	onClose                   // the base closes
	onSettle                  // it is decided that no attempt follows
	onPass                    // the next attempt takes the body
)

// bodyTable holds every legal state and every legal transition. Two rules follow
// from it. The caller's body is closed exactly once, by whoever moves it to
// bodyClosed. It is read and closed by one attempt only, since bodyRead does not
// lead to bodyPassed and nothing leads out of bodyPassed.
var bodyTable = [...][4]bodyState{
	bodyFresh:  {onRead: bodyRead, onClose: bodyKept, onSettle: bodyLast, onPass: bodyPassed},
	bodyLast:   {onRead: bodyRead, onClose: bodyClosed, onSettle: bodyLast, onPass: bodyRefused},
	bodyKept:   {onRead: bodyRefused, onClose: bodyKept, onSettle: bodyClosed, onPass: bodyPassed},
	bodyRead:   {onRead: bodyRead, onClose: bodyClosed, onSettle: bodyRead, onPass: bodyRefused},
	bodyPassed: {onRead: bodyRefused, onClose: bodyPassed, onSettle: bodyPassed, onPass: bodyRefused},
	bodyClosed: {onRead: bodyRefused, onClose: bodyClosed, onSettle: bodyClosed, onPass: bodyRefused},
}
