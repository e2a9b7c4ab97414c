package sops

import (
	"bytes"
	"path"
)

// FormatOf returns the format of a file by its name, like SOPS and Flux's kustomize-controller.
func FormatOf(name string) Format {
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return YAML
	case ".json", ".dockerconfigjson":
		return JSON
	case ".env":
		return Dotenv
	case ".ini":
		return INI
	}
	return Binary
}

// marker returns a text that is in every SOPS file of a format, and hardly in any other file.
func marker(format Format) []byte {
	switch format {
	case YAML:
		return []byte("mac: ENC[")
	case Dotenv:
		return []byte("sops_mac=ENC[")
	case INI:
		return []byte("[sops]")
	}
	return []byte(`"mac": "ENC[`)
}

// IsEncrypted reports whether a text looks like a SOPS file of a format.
func IsEncrypted(format Format, text []byte) bool { return bytes.Contains(text, marker(format)) }
