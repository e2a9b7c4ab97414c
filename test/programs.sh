#!/bin/sh
# Installs the programs that are named, which tests run, where they are missing. It says first what it installs and why. It needs
# apt-get for that: on other systems it names the programs and fails.
set -eu

here() { for name in "$@"; do command -v "$name" >/dev/null && return; done; return 1; }

missing='' packages=''
need() { # PACKAGES, WHY, and the names that the program has
	package=$1 why=$2 && shift 2
	here "$@" || { missing="$missing  $program: $why
" packages="$packages $package"; }
}

for program in "$@"; do
	case $program in
	git) need git "what agentry reads and writes is compared with it" git ;;
	gpg) need "gpg gpg-agent" "to sign commits and charts" gpg ;;
	curl) need curl "to call the service as pages of the manual do" curl ;;
	openssl) need openssl "for keys and certificates, as pages of the manual make them" openssl ;;
	sshd) need openssh-server "for Git over SSH, on loopback" /usr/sbin/sshd ;;
	zsh | fish) need "$program" "to complete commands in this shell" "$program" ;;
	shellcheck) need shellcheck "to check scripts" shellcheck ;;
	chromium) need chromium-headless-shell "to show pages" chromium-headless-shell chromium google-chrome ;;
	libyaml) python3 -c 'import yaml; yaml.CSafeLoader' 2>/dev/null ||
		need python3-yaml "to compare the time of parsing with libyaml, as Python's module yaml" libyaml-of-python ;;
	*) echo "$0 does not know $program" >&2 && exit 2 ;;
	esac
done
[ -n "$packages" ] || exit 0

printf 'Tests run these programs, which are missing here:\n%s' "$missing"
sudo=sudo
[ "$(id -u)" -ne 0 ] || sudo=
for tool in apt-get $sudo; do
	here "$tool" || { echo "Install them and run make again: there is no $tool to do it." >&2 && exit 1; }
done
echo "They come with these packages of the distribution, which ${sudo:+sudo }apt-get installs:$packages"
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list
$sudo apt-get install -y -qq --no-install-recommends $packages
