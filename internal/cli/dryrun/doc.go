// Package dryrun makes the passes that commands show: of the pipeline that governs a folder, with the working tree in
// place of the source that is this repository, and without a push. What a command shows is therefore what the service
// would do with the files as they are now.
//
// A pipeline file governs: the one that is named, else pipeline.yaml or agentry.yaml in the folder of the first path or
// above it, up to the top of the repository. Without one it is a pipeline with the defaults that reads the paths.
package dryrun
