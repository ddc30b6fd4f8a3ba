// Package outlier has the exact statistics that tell a backend that fails more
// often than it should from one that had bad luck.
//
// Both tests are one-sided: how probable is it that so many of a backend's calls
// fail, or more, if its failure rate is no higher than the rate in question? They
// sum the tail itself instead of approximating it, so they hold for a handful of
// calls as they do for millions. Results are natural logarithms, since such
// probabilities fall below what a float64 can hold. Counts are whole numbers of at
// least 0, passed as float64.
package outlier

import "math"

// enough is how small a term of a sum must be, in relation to the sum so far, to
// end it. The terms fall faster than geometrically.
const enough = 1e-12

// LnBinomialTail returns the logarithm of the probability that k or more of n
// calls fail, if each fails with probability p: the upper tail of the binomial
// distribution (Johnson, Kemp and Kotz, "Univariate Discrete Distributions", 3rd
// ed. 2005, chapter 3). k must be at most n.
//
// Where k is no more than the n·p expected, the tail is of no interest: the result
// is then ln 0.5, or 0 for k = 0 or p = 1.
func LnBinomialTail(k, n, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 0
	case p <= 0:
		return math.Inf(-1)
	case k <= n*p:
		return math.Log(0.5)
	}
	first := LnChoose(n, k) + k*math.Log(p) + (n-k)*math.Log1p(-p)
	sum, term := 1.0, 1.0
	for i := k; i < n && term > sum*enough; i++ {
		term *= (n - i) / (i + 1) * p / (1 - p)
		sum += term
	}
	return first + math.Log(sum)
}

// LnFisherTail compares a backend with the others, whose own rate is not known
// either: k of its n calls have failed, and f of the others' c. The result is the
// logarithm of the probability that k or more of all the k+f failures fall on its
// n calls, if they fall on all n+c alike. This is Fisher's exact test, one-sided:
// the upper tail of the hypergeometric distribution (R. A. Fisher, "Statistical
// Methods for Research Workers", 5th ed. 1934, section 21.02). k must be at most n,
// and f at most c.
//
// Where there is nothing to compare with, or the backend fails no more often than
// the others, the result is 0.
func LnFisherTail(k, n, f, c float64) float64 {
	if c == 0 || n == 0 || k*c <= f*n {
		return 0
	}
	all, fails := n+c, k+f
	first := LnChoose(fails, k) + LnChoose(all-fails, n-k) - LnChoose(all, n)
	sum, term := 1.0, 1.0
	for i := k; i < math.Min(n, fails) && term > sum*enough; i++ {
		term *= (fails - i) * (n - i) / ((i + 1) * (all - fails - n + i + 1))
		sum += term
	}
	return first + math.Log(sum)
}

// LnChoose returns the logarithm of the number of ways to choose k of n, by the
// log-gamma function: n! is Γ(n+1). k must be at most n. The absolute error grows
// with n: it is below 1e-8 for n up to a million.
func LnChoose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}
