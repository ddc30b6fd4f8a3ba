package main

import (
	"embed"
	"fmt"
	"net"
	"strings"
	"text/template"
)

//go:embed config/*.tmpl
var configFiles embed.FS

// configs are the templates in config, by file name.
var configs = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"host": func(address string) (string, error) {
		host, _, err := net.SplitHostPort(address)
		return host, err
	},
	"port": func(address string) (string, error) {
		_, port, err := net.SplitHostPort(address)
		return port, err
	},
}).ParseFS(configFiles, "config/*.tmpl"))

// settings are what a configuration file is made of.
type settings struct {
	Prefix  string   // the directory of this one process
	Listen  string   // host:port
	Method  string   // how to choose a server, in the proxy's own words; "": the default
	Servers []string // host:port each
}

// render returns the configuration file that the named template makes.
func render(name string, s settings) (string, error) {
	var text strings.Builder
	if err := configs.ExecuteTemplate(&text, name, s); err != nil {
		return "", fmt.Errorf("cannot write a configuration: %w", err)
	}
	return text.String(), nil
}
