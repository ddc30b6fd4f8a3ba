package main

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// constructors are how a program makes each policy.
var constructors = map[string]string{
	"random": "random.New(pool)", "roundrobin": "roundrobin.New(pool)", "p2c": "p2c.New(pool)",
	"p3c": "p2c.NewWith(pool, p2c.Config{D: 3})", "sqf": "sqf.New(pool)",
}

// call is a policy with the code that makes it.
func call(policy string, servers int) string {
	text := fmt.Sprintf("%s, that is %s", policy, constructors[policy])
	if sameAsSQF(policy, servers) {
		text += fmt.Sprintf(" (which with %d servers is sqf)", servers)
	}
	return text
}

// advice is one sentence. Queues that grow come first.
func (v *verdict) advice(cfg *sim.Config) string {
	text := "advice: "
	if out := shortage(cfg, v.ranked); len(out) > 0 {
		text += fmt.Sprintf("while %s ejected, the other servers are sent more than they can do and their queues grow, under any policy; ", serversAre(out))
	}
	if v.stable < len(v.ranked) {
		text += v.unsuited(cfg)
		if _, ends := cfg.Arrivals.(*sim.Trace); v.stable == 0 && ends {
			return fmt.Sprintf("%s; none of these suits, and %s comes nearest.", text, v.ranked[0].name)
		}
		if v.stable == 0 {
			return text + "; none of these suits."
		}
		text += "; "
	}
	if len(v.ranked) == 1 {
		return fmt.Sprintf("%sonly %s was tried, so there is nothing to choose.", text, v.ranked[0].name)
	}
	return fmt.Sprintf("%stake %s; %s.", text, call(v.ranked[v.take].name, cfg.Servers), v.why(cfg.Servers))
}

func serversAre(servers []int) string {
	if len(servers) == 1 {
		return fmt.Sprintf("server %d is", servers[0])
	}
	return fmt.Sprintf("servers %s are", listed("and", servers))
}

// unsuited names the policies under which queues grow, and which queues.
func (v *verdict) unsuited(cfg *sim.Config) string {
	var queues []string
	under := map[string][]string{}
	for _, c := range v.ranked[v.stable:] {
		g := growth(cfg, c.drowned)
		if under[g] == nil {
			queues = append(queues, g)
		}
		under[g] = append(under[g], c.name)
	}
	text := "not "
	for i, g := range queues {
		if i > 0 {
			text += ", nor "
		}
		text += listed("or", under[g]) + ", under which " + g
	}
	return text
}

// why says what decided.
func (v *verdict) why(servers int) string {
	best := v.ranked[0]
	if v.stable == 1 {
		return "it is the only one of these under which no queue grows"
	}
	if v.take != 0 {
		return fmt.Sprintf("it is as good as %s, which came out first by chance or by next to nothing, and %s",
			best.name, simpler(v.ranked[v.take].name, best.name, servers))
	}
	next := v.ranked[1]
	if sameAsSQF(next.name, servers) && choices(best.name, servers) == servers {
		return fmt.Sprintf("with %d servers %s is the same", servers, next.name)
	}
	if v.comparison[1].noise {
		return fmt.Sprintf("whether it is better than %s these %d seeds do not settle (more -seeds would)", next.name, len(best.results))
	}
	below := (1 - best.value/next.value) * 100
	quicker := fmt.Sprintf("its %s of %s is %s %% below the %s of the next, %s", v.by, significant(best.value), significant(below), significant(next.value), next.name)
	loses := fmt.Sprintf("leaves %s %% of the requests without a good answer", significant(100*best.lost))
	switch {
	case fmt.Sprintf("%.4f", best.lost) == fmt.Sprintf("%.4f", next.lost):
		return quicker
	case below <= 0:
		return fmt.Sprintf("it %s, the next, %s, %s %%, which outweighs that its %s is %s and not %s",
			loses, next.name, significant(100*next.lost), v.by, significant(best.value), significant(next.value))
	case best.lost > next.lost:
		return fmt.Sprintf("%s, which outweighs that it %s, and %s %s %%", quicker, loses, next.name, significant(100*next.lost))
	}
	return fmt.Sprintf("%s, and it %s, not %s %%", quicker, loses, significant(100*next.lost))
}

// simpler says why a policy is preferred to another that is as good.
func simpler(policy, to string, servers int) string {
	few, many := choices(policy, servers), choices(to, servers)
	switch {
	case few == 1:
		return fmt.Sprintf("costs less for each pick than %s", to)
	case many == 1:
		return fmt.Sprintf("avoids a server that turns slow, which %s does not", to)
	}
	return fmt.Sprintf("costs less for each pick: it looks at %d servers, not at %d", few, many)
}
