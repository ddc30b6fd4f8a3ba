package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A process is a proxy that this program has started.
type process struct {
	name    string
	log     string // the file with what it has written
	end     context.CancelFunc
	stopped chan struct{} // closed when it is gone
}

// grace is how long a process may take to stop before it is killed.
const grace = 5 * time.Second

// startProcess runs a command whose output goes to a file in dir. The end of ctx
// stops it too: with SIGTERM to its own pid, after the grace with SIGKILL.
func startProcess(ctx context.Context, dir, name string, command ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a descriptor of its own
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	p := &process{name: name, log: log.Name(), end: cancel, stopped: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is of no interest; that it did is in stopped
		close(p.stopped)
	}()
	return p, nil
}

// stop ends the process and returns when it is gone.
func (p *process) stop() {
	p.end()
	<-p.stopped
}

// errPortTaken: another process has the port that was free a moment ago.
var errPortTaken = errors.New("its port was taken by another process")

// listening returns when the process accepts connections at the address.
func (p *process) listening(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-p.stopped:
			words := p.lastWords()
			if strings.Contains(strings.ToLower(words), "in use") {
				return errPortTaken
			}
			return fmt.Errorf("%s ended at once; it wrote: %s", p.name, words)
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on %s: %w; it wrote: %s", p.name, address, context.Cause(ctx), p.lastWords())
		}
	}
}

// lastWords is the end of what the process has written, in one line.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if words := strings.Join(lines[max(0, len(lines)-3):], " | "); words != "" {
		return words
	}
	return "nothing"
}

// Ports below those that systems take for connections of their own (from 32768 on
// Linux): one of these could be in use a moment later, even by the very connection
// that asks whether somebody listens.
const lowestPort, highestPort = 20000, 32000

// freeAddress is an address on loopback that nobody listens on at the moment.
func freeAddress() (string, error) {
	const tries = 100
	for try := 1; ; try++ {
		address := fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(highestPort-lowestPort))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		if try == tries {
			return "", fmt.Errorf("no free port on loopback: %w", err)
		}
	}
}
