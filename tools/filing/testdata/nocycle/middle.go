package nocycle

func double(n int) int { return min(2*n, limit) }
