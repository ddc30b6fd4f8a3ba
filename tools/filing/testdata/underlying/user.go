package underlying

// Size reads fields that data.go declares.
func Size(v *View) int { return v.inner.size }
