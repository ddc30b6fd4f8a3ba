// Discovery shows a client that finds its servers by name: the fleet grows, shrinks, is
// replaced, and loses its name server, while calls go on. It prints what the client's
// pool has to say of its source, and how the calls went.
//
//	go run ./examples/discovery
//
// The name server is a toy within the program, and the fleet stands on loopback. With a
// name server of your own the client is one line:
//
//	orders, err := client.New(ctx, "srv://_http._tcp.orders.internal")
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/client"
	"github.com/evenkeel-go/evenkeel/discover"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, time.Second); err != nil {
		log.Fatal(err)
	}
}

// run goes through the story. Each chapter lasts for pause at least.
func run(ctx context.Context, out io.Writer, pause time.Duration) error {
	names, fleet := &nameServer{}, &fleet{}
	defer fleet.close()
	names.list(fleet.grow(2)...)

	orders, err := client.NewWith(ctx, &discover.SRV{Name: "_http._tcp.orders.internal", Resolver: names}, client.Config{
		Pool:     evenkeel.Config{OnEvent: func(e evenkeel.Event) { tell(out, e) }},
		Discover: discover.Config{Interval: 100 * time.Millisecond, MinInterval: 10 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer orders.Close()
	calls := callAllTheWhile(orders.Client)
	defer calls.stop()

	for _, chapter := range []struct {
		title string
		begin func()
	}{
		{"two servers", func() {}},
		{"the fleet grows by two", func() { names.list(fleet.grow(2)...) }},
		{"the name server fails, and a server dies meanwhile", func() {
			names.fail(true)
			fleet.kill(0)
		}},
		{"the name server is back, without the dead one", func() {
			names.list(fleet.all()...)
			names.fail(false)
		}},
		{"the name server has forgotten everyone", func() { names.list() }},
		{"a new fleet takes over", func() { names.list(fleet.grow(3)[3:]...) }},
	} {
		fmt.Fprintf(out, "\n%s\n", chapter.title)
		chapter.begin()
		if err := settle(ctx, orders, pause); err != nil {
			return err
		}
		fmt.Fprintf(out, "    %s\n", calls.summary())
	}
	return nil
}

// tell prints the news of the source.
func tell(out io.Writer, e evenkeel.Event) {
	switch {
	case e.Kind == evenkeel.EventSource && e.Cause != nil:
		fmt.Fprintf(out, "    source: %s (%v)\n", e.Text, e.Cause)
	case e.Kind == evenkeel.EventSource:
		fmt.Fprintf(out, "    source: %s\n", e.Text)
	case e.Kind == evenkeel.EventState && e.To == evenkeel.StateEjectedByOutcome:
		fmt.Fprintf(out, "    pool: %v is ejected\n", e.Backend)
	}
}

// settle waits for pause, and until the name server has been asked twice.
func settle(ctx context.Context, orders *client.Client, pause time.Duration) error {
	enough := time.After(pause)
	for before := orders.Discovery().Lookups; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-enough:
			if orders.Discovery().Lookups >= before+2 {
				return nil
			}
			enough = time.After(10 * time.Millisecond)
		}
	}
}
