package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// An api is the packages of the module that others may import.
type api struct {
	fset     *token.FileSet
	packages []*types.Package // by path
}

// load reads the packages of the module in dir, from source.
func load(dir string) (*api, error) {
	a := &api{fset: token.NewFileSet()}
	list, err := packages.Load(&packages.Config{
		Mode: packages.LoadTypes | packages.NeedImports | packages.NeedDeps,
		Dir:  dir, Fset: a.fset,
	}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		if p.Name != "main" && !internal(p.PkgPath) {
			a.packages = append(a.packages, p.Types)
		}
	}
	if err == nil && len(a.packages) == 0 {
		err = fmt.Errorf("%s holds no package", dir)
	}
	return a, err
}

func internal(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

// write makes the API a baseline in dir: for each package its types as export
// data, and the text of all.
func (a *api) write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range a.packages {
		var b bytes.Buffer
		// No positions: they would hold the paths of whoever writes the baseline.
		if err := gcexportdata.Write(&b, nil, p); err != nil {
			return err
		}
		name := strings.ReplaceAll(p.Path(), "/", "+") + exportSuffix
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, textName), a.text(), 0o644)
}

const (
	exportSuffix = ".export"
	textName     = "api.txt"
)

// read returns the API that a baseline holds.
func read(dir string) (*api, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+exportSuffix))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no baseline in %s; make one with -write", dir)
	}
	a := &api{fset: token.NewFileSet()}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		path := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), exportSuffix), "+", "/")
		// Each by itself: one package's data holds a part of those it imports.
		p, err := gcexportdata.Read(bytes.NewReader(data), a.fset, map[string]*types.Package{}, path)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		a.packages = append(a.packages, p)
	}
	return a, nil
}

// compare returns the changes that break a program that uses the API, and those
// that break none.
func compare(then, now *api) (breaking, compatible []string) {
	add := func(path, message string, isCompatible bool) {
		list := &breaking
		if isCompatible {
			list = &compatible
		}
		*list = append(*list, path+": "+message)
	}
	find := func(a *api, path string) *types.Package {
		i := slices.IndexFunc(a.packages, func(p *types.Package) bool { return p.Path() == path })
		if i < 0 {
			return nil
		}
		return a.packages[i]
	}
	for _, old := range then.packages {
		p := find(now, old.Path())
		if p == nil {
			add(old.Path(), "the package is gone", false)
			continue
		}
		for _, change := range apidiff.Changes(old, p).Changes {
			add(p.Path(), change.Message, change.Compatible)
		}
		for _, message := range aliasChanges(old, p) {
			add(p.Path(), message, false)
		}
	}
	for _, p := range now.packages {
		if find(then, p.Path()) == nil {
			add(p.Path(), "the package is new", true)
		}
	}
	for _, list := range []*[]string{&breaking, &compatible} {
		slices.Sort(*list)
		*list = slices.Compact(*list) // a generic type's change is found once per use
	}
	return breaking, compatible
}

// aliasChanges finds the generic aliases that take other type arguments than before,
// which apidiff does not look at.
func aliasChanges(then, now *types.Package) (messages []string) {
	for _, name := range then.Scope().Names() {
		old, isAlias := alias(then, name)
		if !isAlias {
			continue
		}
		a, isAlias := alias(now, name)
		if !isAlias {
			continue // apidiff says so
		}
		if was, is := constraints(old), constraints(a); !slices.Equal(was, is) {
			messages = append(messages, fmt.Sprintf("%s: type parameters changed from [%s] to [%s]",
				name, strings.Join(was, ", "), strings.Join(is, ", ")))
		}
	}
	return messages
}

// alias looks an exported alias up.
func alias(p *types.Package, name string) (*types.Alias, bool) {
	obj, ok := p.Scope().Lookup(name).(*types.TypeName) // a variable's type may be an alias too
	if !ok || !obj.Exported() {
		return nil, false
	}
	a, ok := obj.Type().(*types.Alias)
	return a, ok
}

// constraints are those of an alias's type parameters, in words.
func constraints(a *types.Alias) []string {
	var all []string
	for p := range a.TypeParams().TypeParams() {
		all = append(all, types.TypeString(p.Constraint(), nil))
	}
	return all
}

// same reports whether there is no difference at all, down to the names of
// parameters.
func (a *api) same(b *api) bool {
	breaking, compatible := compare(a, b)
	return len(breaking)+len(compatible) == 0 && bytes.Equal(a.text(), b.text())
}

// text is the API in lines that a reader of a diff can follow.
func (a *api) text() []byte {
	var b bytes.Buffer
	sorted := slices.SortedFunc(slices.Values(a.packages), func(p, q *types.Package) int { return cmp.Compare(p.Path(), q.Path()) })
	for i, p := range sorted {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "package %s\n", p.Path())
		describe(&b, p)
	}
	return b.Bytes()
}

func describe(b io.Writer, p *types.Package) {
	short := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() { // in alphabetical order
		obj := p.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		typeName, ok := obj.(*types.TypeName)
		if !ok {
			line := types.ObjectString(obj, short)
			if c, ok := obj.(*types.Const); ok {
				line += " = " + c.Val().String()
			}
			fmt.Fprintf(b, "\t%s\n", line)
			continue
		}
		describeType(b, typeName, short)
	}
}

// describeType lists what of a type can be seen from outside.
func describeType(b io.Writer, name *types.TypeName, short types.Qualifier) {
	head := "type " + types.TypeString(name.Type(), short)
	if name.IsAlias() {
		fmt.Fprintf(b, "\t%s = %s\n", head, types.TypeString(types.Unalias(name.Type()), short))
		return
	}
	switch u := name.Type().Underlying().(type) {
	case *types.Struct:
		fmt.Fprintf(b, "\t%s struct\n", head)
		for f := range u.Fields() {
			if f.Exported() {
				fmt.Fprintf(b, "\t\t%s\n", types.ObjectString(f, short))
			}
		}
	case *types.Interface:
		fmt.Fprintf(b, "\t%s interface\n", head)
		for m := range u.Methods() {
			fmt.Fprintf(b, "\t\t%s%s\n", m.Name(), strings.TrimPrefix(types.TypeString(m.Type(), short), "func"))
		}
	default:
		fmt.Fprintf(b, "\t%s %s\n", head, types.TypeString(u, short))
	}
	named, ok := name.Type().(*types.Named)
	if !ok {
		return
	}
	methods := slices.SortedFunc(named.Methods(), func(f, g *types.Func) int { return cmp.Compare(f.Name(), g.Name()) })
	for _, m := range methods {
		if m.Exported() {
			fmt.Fprintf(b, "\t\t%s\n", types.ObjectString(m, short))
		}
	}
}
