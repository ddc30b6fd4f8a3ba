#!/usr/bin/env bash
# The short version of bench/proxies: nginx, HAProxy, lighttpd and evenkeel before the
# same servers. It installs the three with apt-get, as root, where they are missing,
# and does not start them as services. The module is outside go.work; its tests and
# its vet run here too.
#
#	.ci/proxies.sh
set -euo pipefail
cd "$(dirname "$0")/../bench/proxies"
export GOWORK=off

missing=()
for name in nginx haproxy lighttpd; do
	PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$name" >/dev/null || missing+=("$name")
done
if [ ${#missing[@]} -gt 0 ]; then
	if ! command -v apt-get >/dev/null; then
		echo "not installed, and there is no apt-get to do it: ${missing[*]}" >&2
		exit 1
	fi
	as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	echo "installing ${missing[*]}"
	# policy-rc.d says whether a package may start its service; 101 is no.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
		trap '"${as_root[@]}" rm -f "$policy"' EXIT
	fi
	"${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
fi

go vet ./...
go test ./...
go run . -short -check
