package three

func c(n int) int {
	if n == 0 {
		return 0
	}
	return A(n - 1)
}
