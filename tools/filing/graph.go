package main

import (
	"fmt"
	"slices"
)

// A graph is the files of a package and which of them use which.
type graph struct {
	files []string // by name
	edges []*edge  // by from, then to
}

// An edge is the use of one file by another.
type edge struct {
	from, to string
	uses     []use // the first one of each declaration, in the order of the source
}

// A use is that of a declaration in a line of the file that uses it.
type use struct {
	name string
	line int
}

func (e *edge) String() string {
	const most = 4 // more make no line to read
	first, others := e.uses[0], e.uses[1:]
	text := fmt.Sprintf("%s:%d uses %s of %s", e.from, first.line, first.name, e.to)
	for i, u := range others {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(others)-most)
		}
		text += fmt.Sprintf(", %s (line %d)", u.name, u.line)
	}
	return text
}

// layers are the files from top to bottom: each uses only files of layers below its
// own. A file stands as low as it can. The graph must have no cycle.
func (g *graph) layers() [][]string {
	heights := map[string]int{}
	var height func(file string) int
	height = func(file string) int {
		h, known := heights[file]
		if !known {
			for _, e := range g.edges {
				if e.from == file {
					h = max(h, height(e.to)+1)
				}
			}
			heights[file] = h
		}
		return h
	}
	var layers [][]string
	for _, file := range g.files {
		h := height(file)
		for len(layers) <= h {
			layers = append(layers, nil)
		}
		layers[h] = append(layers[h], file)
	}
	slices.Reverse(layers)
	return layers
}

// cycles finds cycles of which no two share an edge, short ones first, until the
// edges that remain make none. There is an order only once each of them is broken.
func (g *graph) cycles() [][]*edge {
	var all [][]*edge
	left := graph{files: g.files, edges: slices.Clone(g.edges)}
	for {
		cycle := left.shortestCycle()
		if cycle == nil {
			return all
		}
		all = append(all, cycle)
		left.edges = slices.DeleteFunc(left.edges, func(e *edge) bool { return slices.Contains(cycle, e) })
	}
}

func (g *graph) shortestCycle() []*edge {
	var shortest []*edge
	for _, file := range g.files {
		cycle := g.cycleFrom(file)
		if cycle != nil && (shortest == nil || len(cycle) < len(shortest)) {
			shortest = cycle
		}
	}
	return shortest
}

// cycleFrom finds a shortest way from a file back to it, breadth first.
func (g *graph) cycleFrom(start string) []*edge {
	reached := map[string][]*edge{} // the way to each file
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, e := range g.edges {
			if e.from != at {
				continue
			}
			way := append(slices.Clone(reached[at]), e)
			if e.to == start {
				return way
			}
			if _, seen := reached[e.to]; !seen {
				reached[e.to] = way
				queue = append(queue, e.to)
			}
		}
	}
	return nil
}
