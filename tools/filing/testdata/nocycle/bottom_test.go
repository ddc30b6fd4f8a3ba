package nocycle

import "testing"

// A test may use what stands above.
func TestServe(t *testing.T) {
	if Serve() != limit {
		t.Fatal(Serve())
	}
}
