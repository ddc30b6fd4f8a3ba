package three

func b(n int) int { return c(n) + d }
