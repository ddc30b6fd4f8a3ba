package discover_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestWhatAFileMayHold(t *testing.T) {
	a, b := evenkeel.Member[string]{Backend: "10.0.0.1:80", Weight: 1}, evenkeel.Member[string]{Backend: "https://b:8443/v2", Weight: 2.5, Tier: 1}
	drained := evenkeel.Member[string]{Backend: "[::1]:80", Weight: 0}
	for name, c := range map[string]struct {
		text    string
		want    []evenkeel.Member[string]
		skipped []string
	}{
		"lines":       {"10.0.0.1:80\nhttps://b:8443/v2 weight=2.5 tier=1\n[::1]:80 weight=0", []evenkeel.Member[string]{a, b, drained}, nil},
		"odd ends":    {"\ufeff# the fleet\r\n\r\n \t10.0.0.1:80\t# first\r\n", []evenkeel.Member[string]{a}, nil},
		"wrong lines": {"10.0.0.1:80\n:80\nb:80 weight=x\nb:80 tier=-1\nb:80 weight=-1\nb:80 heavy\nb:80 tier=1.5", []evenkeel.Member[string]{a}, []string{"line 2: ", "line 3: ", "line 4: ", "line 5: ", "line 6: ", "line 7: "}},
		"JSON":        {` ["10.0.0.1:80", {"backend": "https://b:8443/v2", "weight": 2.5, "tier": 1}, {"backend": "[::1]:80", "weight": 0}]`, []evenkeel.Member[string]{a, b, drained}, nil},
		"wrong JSON":  {`["10.0.0.1:80", 7, {"weight": 1}, {"backend": "b:80", "heavy": true}, {"backend": "b:80", "tier": -1}]`, []evenkeel.Member[string]{a}, []string{"element 1: ", "element 2: ", "element 3: ", "element 4: "}},
		"nothing":     {"", nil, nil},
		"no elements": {"[]", nil, nil},
	} {
		path := filepath.Join(t.TempDir(), "backends")
		write(t, path, c.text)
		answer, err := lookup(t, &discover.File{Path: path})
		assert.NoError(t, err, name)
		assert.Equal(t, c.want, answer.Members, name)
		if assert.Len(t, answer.Skipped, len(c.skipped), name) {
			for i, want := range c.skipped {
				assert.True(t, strings.HasPrefix(answer.Skipped[i].Error(), want), "%s: %v", name, answer.Skipped[i])
			}
		}
	}
}

func TestWhatIsNoList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backends")
	_, err := lookup(t, &discover.File{Path: path})
	assert.ErrorIs(t, err, os.ErrNotExist)
	write(t, path, `["10.0.0.1:80", "10.0`)
	_, err = lookup(t, &discover.File{Path: path})
	assert.ErrorContains(t, err, path)
	_, err = lookup(t, &discover.File{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
}

// However the file changes, the pool follows: written in place, renamed over, gone and
// back, and behind a symbolic link that is swapped as Kubernetes does it.
func TestAFileIsFollowed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "backends")
	write(t, path, "a:80\nb:80")
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{})
		f := follow(t, pool, &discover.File{Path: path}, discover.Config{})
		defer f.Close()
		changes := []struct {
			name   string
			change func()
			want   []string
		}{
			{"written in place", func() { write(t, path, "a:80\nc:80") }, []string{"a:80", "c:80"}},
			{"renamed over", func() {
				write(t, path+".new", "d:80\ne:80")
				require.NoError(t, os.Rename(path+".new", path))
			}, []string{"d:80", "e:80"}},
			{"removed", func() { require.NoError(t, os.Remove(path)) }, []string{"d:80", "e:80"}},
			{"made a link", func() {
				for name, text := range map[string]string{"..1": "f:80", "..2": "g:80"} {
					require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
					write(t, filepath.Join(dir, name, "backends"), text)
				}
				require.NoError(t, os.Symlink("..1", filepath.Join(dir, "..data")))
				require.NoError(t, os.Symlink(filepath.Join("..data", "backends"), path))
			}, []string{"f:80"}},
			{"a link swapped", func() {
				require.NoError(t, os.Symlink("..2", filepath.Join(dir, "..tmp")))
				require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
			}, []string{"g:80"}},
			{"emptied", func() { write(t, path, "") }, []string{"g:80"}},
		}
		for _, c := range changes {
			c.change()
			pass(5 * time.Second)
			assert.Equal(t, c.want, members(pool), c.name)
		}
	})
}

// A file that is just being written does not count until it is whole.
func TestAFileThatIsBeingWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "backends")
	write(t, path, "a:80")
	synctest.Test(t, func(t *testing.T) {
		source := &discover.File{Path: path}
		_, err := source.Lookup(t.Context())
		require.NoError(t, err)
		writer := time.AfterFunc(0, func() {
			for _, text := range []string{"", "a:8", "a:80\nb", "a:80\nb:80"} {
				write(t, path, text)
				time.Sleep(30 * time.Millisecond)
			}
		})
		defer writer.Stop()
		pass(0)
		answer, err := source.Lookup(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"a:80", "b:80"}, backends(answer))

		write(t, path, "c:80")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = source.Lookup(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
