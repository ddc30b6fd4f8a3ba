package dns_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// dnsmasq is a real DNS server, of Debian's package dnsmasq-base, on loopback.
type dnsmasq struct {
	t     *testing.T
	path  string
	hosts string // the file that its addresses are read from
	port  string

	cmd *exec.Cmd
	log sync.WaitGroup
}

// startDNSMasq starts dnsmasq, and stops it at the end of the test. Without dnsmasq the
// test is skipped, unless CI is set, where dnsmasq belongs to what is needed.
func startDNSMasq(t *testing.T) *dnsmasq {
	t.Helper()
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		if path = "/usr/sbin/dnsmasq"; !exists(path) { // not in every user's PATH
			require.Empty(t, os.Getenv("CI"), "CI needs dnsmasq: apt-get install dnsmasq-base")
			t.Skip("there is no dnsmasq: apt-get install dnsmasq-base")
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer free.Close()
	d := &dnsmasq{
		t: t, path: path, hosts: filepath.Join(t.TempDir(), "hosts"),
		port: strconv.Itoa(free.Addr().(*net.TCPAddr).Port),
	}
	t.Cleanup(d.stop)
	return d
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d *dnsmasq) addr() string { return net.JoinHostPort("127.0.0.1", d.port) }

// start runs dnsmasq with further options, and waits until it answers.
func (d *dnsmasq) start(options ...string) {
	d.t.Helper()
	me, err := user.Current()
	require.NoError(d.t, err)
	d.cmd = exec.Command(d.path, append([]string{
		"--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--pid-file=",
		"--user=" + me.Username, "--listen-address=127.0.0.1", "--bind-interfaces", "--port=" + d.port,
		"--no-resolv", "--no-hosts", "--addn-hosts=" + d.hosts, "--local=/test/", "--edns-packet-max=1232",
	}, options...)...)
	log, err := d.cmd.StderrPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, d.cmd.Start())
	ready := make(chan string)
	d.log.Go(func() {
		defer close(ready)
		var said bytes.Buffer
		for lines := bufio.NewScanner(log); lines.Scan(); {
			fmt.Fprintln(&said, lines.Text())
			if strings.Contains(lines.Text(), " read "+d.hosts) {
				ready <- ""
				for lines.Scan() { // it must not find its pipe full
				}
				return
			}
		}
		ready <- said.String()
	})
	require.Empty(d.t, <-ready, "dnsmasq did not start")
}

// stop kills dnsmasq, as a machine that fails does.
func (d *dnsmasq) stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Kill()
	d.log.Wait()
	_ = d.cmd.Wait() // killed
	d.cmd = nil
}

// zone writes which names have which addresses, and makes dnsmasq read that if it runs.
func (d *dnsmasq) zone(hosts map[string][]string) {
	d.t.Helper()
	var text strings.Builder
	for name, addrs := range hosts {
		for _, addr := range addrs {
			fmt.Fprintln(&text, addr, name)
		}
	}
	require.NoError(d.t, os.WriteFile(d.hosts, []byte(text.String()), 0o600))
	if d.cmd != nil {
		require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGHUP))
	}
}
