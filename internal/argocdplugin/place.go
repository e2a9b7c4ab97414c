package argocdplugin

import (
	"path"
	"path/filepath"
)

// Place finds where the files of an Application are. Argo CD runs a plugin in the folder of the Application, in a copy
// of its repository, and says which folder that is: ARGOCD_APP_SOURCE_PATH. top is the folder of the copy, and
// below the Application's folder in it. An installation can leave files out of the copy, .git too, so
// nothing in it says where it begins.
func Place(folder, sourcePath string) (top, below string) {
	top, below = folder, "."
	rest := path.Clean("/" + sourcePath)
	for rest != "/" && filepath.Base(top) == path.Base(rest) {
		top, below, rest = filepath.Dir(top), path.Join(path.Base(rest), below), path.Dir(rest)
	}
	return top, below
}
