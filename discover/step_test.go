package discover_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

func TestASubset(t *testing.T) {
	source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
		return discover.Answer[string]{Members: []evenkeel.Member[string]{
			{Backend: "a", Weight: 1}, {Backend: "b", Weight: 2, Tier: 1}, {Backend: "a", Weight: 3}, {Backend: "odd", Weight: -1}, {Backend: "c", Weight: 1},
		}}, nil
	})
	var given []string
	part := discover.Subset(source, func(all []string) []string {
		given = append(given, all...)
		return append(all[:2], "stranger")
	})
	answer, err := part.Lookup(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, given)
	assert.Equal(t, []evenkeel.Member[string]{{Backend: "a", Weight: 3}, {Backend: "b", Weight: 2, Tier: 1}}, answer.Members)
	assert.Len(t, answer.Skipped, 1, "what no pool takes is still reported")

	failing := discover.Func[string](func(context.Context) (discover.Answer[string], error) { return discover.Answer[string]{}, errDown })
	_, err = discover.Subset(failing, func([]string) []string { panic("nothing to choose from") }).Lookup(t.Context())
	assert.ErrorIs(t, err, errDown)
}
