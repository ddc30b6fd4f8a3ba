package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// feed gives the pool its members, and says what is new.
type feed[T comparable] struct {
	ctx    context.Context // nothing is given after its end
	pool   *evenkeel.Pool[T]
	keeper keeper[T]
	record *record
	last   ruling
	spared string // the entries that the last answer held and no pool takes
}

// take gives the pool what follows from a lookup. It returns nil if the lookup has brought
// members, whether or not they are believed.
func (f *feed[T]) take(answer Answer[T], err error, now time.Time) error {
	members, skipped := tidy(answer.Members)
	skipped = slices.Concat(answer.Skipped, skipped)
	members, r, why := f.keeper.rule(members, err, now)
	if r == empty && len(skipped) > 0 {
		why = fmt.Errorf("%w: %w", why, join(skipped))
	}
	f.note(r, why, skipped, now)
	if err := f.give(members, r, why); err != nil {
		return err
	}
	if r == failed || r == empty {
		return why
	}
	f.spare(skipped)
	return nil
}

// note writes a ruling into the statistics.
func (f *feed[T]) note(r ruling, why error, skipped []error, now time.Time) {
	f.record.update(func(s *Stats) {
		switch r {
		case believed:
			s.LastGood, s.Since = now, time.Time{}
		case failed:
			s.Failed++
		case empty:
			s.Empty++
		case shrunk:
			s.Shrunk++
		}
		if r != believed && s.Since.IsZero() {
			s.Since = now
		}
		s.Err, s.Skipped = why, join(skipped)
	})
}

// drop empties the pool: there has been no answer for too long.
func (f *feed[T]) drop() {
	f.keeper.drop()
	// The pool has taken members before, so it refuses none.
	_ = f.give(nil, dropped, fmt.Errorf("discover: no answer with members for %v", f.keeper.maxStale))
}

// give makes members the pool's, and says so if that changes anything, or if the ruling
// is another one than before. The pool refuses only if it is not one that NewPool made;
// after Close nothing is given.
func (f *feed[T]) give(members []evenkeel.Member[T], r ruling, why error) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	ordered, d := compare(f.keeper.members, members)
	if !d.none() {
		if err := f.pool.ReplaceMembers(ordered...); err != nil {
			return err
		}
		f.keeper.members = ordered
		f.record.update(func(s *Stats) { s.Members, s.Changes = len(ordered), s.Changes+1 })
	}
	var news []string
	if r != f.last {
		news = append(news, fmt.Sprintf(r.text(), len(ordered)))
	}
	if !d.none() {
		news = append(news, d.text())
	}
	f.last = r
	if len(news) > 0 {
		f.pool.SourceNews(strings.Join(news, "; "), why)
	}
	return nil
}

// spare says which entries were left out, if they are others than before.
func (f *feed[T]) spare(skipped []error) {
	err := join(skipped)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if was := f.spared; text != was && text != "" && f.ctx.Err() == nil {
		f.pool.SourceNews(fmt.Sprintf("%d entries of the answer are left out", len(skipped)), err)
	}
	f.spared = text
}
