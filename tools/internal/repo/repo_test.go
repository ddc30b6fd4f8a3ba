package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ExampleRoot() {
	root, err := repo.Root()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = os.Stat(filepath.Join(root, "pool.go"))
	fmt.Println("the pool is in it:", err == nil)
	// Output: the pool is in it: true
}

func TestOutsideOfTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := repo.Root()
	require.ErrorContains(t, err, "no go.work here or above")
}

func TestTheNearestOneWins(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	below := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(below, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.work"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "go.work"), nil, 0o644))
	t.Chdir(below)
	root, err := repo.Root()
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "a"), root)
}
