package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

type pkg = packages.Package

// load reads packages from source, without their tests.
func load(dir string, patterns []string) ([]*pkg, error) {
	list, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: dir}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no package matches %s", strings.Join(patterns, " "))
	}
	return list, err
}

// importable keeps the packages that other modules may import.
func importable(list []*pkg) []*pkg {
	return slices.DeleteFunc(list, func(p *pkg) bool {
		return p.Name == "main" || slices.Contains(strings.Split(p.PkgPath, "/"), "internal")
	})
}

// usesIn finds which files of a package use which.
func usesIn(p *pkg) *graph {
	c := collector{pkg: p, edges: map[[2]string]*edge{}}
	g := &graph{}
	for _, file := range p.Syntax {
		g.files = append(g.files, c.file(file.FileStart))
		ast.Inspect(file, c.visit)
	}
	slices.Sort(g.files)
	for _, e := range c.edges {
		g.edges = append(g.edges, e)
	}
	slices.SortFunc(g.edges, func(a, b *edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return g
}

// A collector gathers the uses that a walk through a package meets.
type collector struct {
	pkg   *pkg
	edges map[[2]string]*edge
}

func (c *collector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if s := c.pkg.TypesInfo.Selections[n]; s != nil {
			c.embedded(n.Sel.Pos(), s)
		}
	case *ast.Ident:
		c.use(n.Pos(), c.pkg.TypesInfo.Uses[n])
	}
	return true
}

// embedded notes the embedded fields that a selection goes through unnamed.
func (c *collector) embedded(at token.Pos, s *types.Selection) {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		field := t.Underlying().(*types.Struct).Field(i)
		c.use(at, field)
		t = field.Type()
	}
}

// use notes the use of an object at a place in the source.
func (c *collector) use(at token.Pos, obj types.Object) {
	switch o := obj.(type) {
	case nil:
		return
	case *types.Func: // of an instantiated type: the one that the source declares
		obj = o.Origin()
	case *types.Var:
		obj = o.Origin()
	}
	if obj.Pkg() != c.pkg.Types || !obj.Pos().IsValid() {
		return
	}
	from, to := c.file(at), c.file(obj.Pos())
	if from == to {
		return
	}
	key := [2]string{from, to}
	e := c.edges[key]
	if e == nil {
		e = &edge{from: from, to: to}
		c.edges[key] = e
	}
	name := c.name(obj)
	if !slices.ContainsFunc(e.uses, func(u use) bool { return u.name == name }) {
		e.uses = append(e.uses, use{name, c.pkg.Fset.Position(at).Line})
	}
}

// file is the name of the file that a position lies in.
func (c *collector) file(at token.Pos) string { return filepath.Base(c.pkg.Fset.File(at).Name()) }

// name is what a reader would call an object: Pool, Pool.Replace, Config.Now.
func (c *collector) name(obj types.Object) string {
	for _, file := range c.pkg.Syntax {
		if obj.Pos() < file.FileStart || file.FileEnd <= obj.Pos() {
			continue
		}
		for _, d := range file.Decls {
			if d.Pos() <= obj.Pos() && obj.Pos() < d.End() {
				return nameIn(d, obj)
			}
		}
	}
	return obj.Name()
}

// nameIn names an object that stands in a declaration, or is what it declares.
func nameIn(d ast.Decl, obj types.Object) string {
	var within string
	switch d := d.(type) {
	case *ast.FuncDecl:
		within = d.Name.Name
		if d.Recv != nil {
			within = receiver(d.Recv.List[0].Type) + "." + within
		}
		if d.Name.Pos() == obj.Pos() {
			return within
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Pos() < obj.Pos() && obj.Pos() < t.End() {
				within = t.Name.Name
			}
		}
	}
	if within == "" {
		return obj.Name()
	}
	return within + "." + obj.Name()
}

// receiver is the name of a receiver's type, without pointer and parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident).Name
}
