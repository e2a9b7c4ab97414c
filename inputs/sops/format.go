package sops

import (
	"bytes"
	"path"
)

// FormatOf is the format of a file by its name, as SOPS and Flux's kustomize-controller know it.
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

// marks stand in all files of a format that SOPS encrypted, and hardly in others.
func marks(format Format) []byte {
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

// IsEncrypted reports whether a file looks like one that SOPS encrypted in a format.
func IsEncrypted(format Format, text []byte) bool { return bytes.Contains(text, marks(format)) }
