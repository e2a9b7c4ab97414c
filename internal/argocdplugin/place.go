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
	for rest := path.Clean("/" + sourcePath); rest != "/" && filepath.Base(top) == path.Base(rest); rest = path.Dir(rest) {
		top, below = filepath.Dir(top), path.Join(path.Base(rest), below)
	}
	return top, below
}
