package subset_test

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel/subset"
)

// A client takes three of eight servers, and one other when one of them leaves.
func Example() {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	fmt.Println(subset.ByID("web-17", all, 3))
	fmt.Println(subset.ByID("web-17", []string{"a", "b", "d", "e", "f", "g", "h"}, 3))
	// Output:
	// [b c h]
	// [b f h]
}
