package diag

// Codes of what is found while manifests are read.
const (
	EmptyInput       Code = "empty-input"
	UnreadableFile   Code = "unreadable-file"
	FileTooLarge     Code = "file-too-large"
	SymlinkRefused   Code = "symlink-refused"
	PlainManifests   Code = "kustomization-not-built"
	BuildFailed      Code = "build-failed"
	BuildRefused     Code = "build-refused"
	NotUTF8          Code = "not-utf8"
	InvalidYAML      Code = "invalid-yaml"
	DuplicateKey     Code = "duplicate-key"
	BooleanKey       Code = "boolean-key"
	TooComplex       Code = "document-too-complex"
	TooManyDocuments Code = "too-many-documents"
	NotAnObject      Code = "not-an-object"
	UnknownKind      Code = "unknown-kind"
	UnknownField     Code = "unknown-field"
	InvalidField     Code = "invalid-field"
	InvalidMetadata  Code = "invalid-metadata"
	MissingNamespace Code = "missing-namespace"
	DefaultNamespace Code = "default-namespace"
	InvalidSecret    Code = "invalid-secret"
	EncryptedSecret  Code = "encrypted-secret"
	EncryptedFile    Code = "encrypted-file"
	ClearSecret      Code = "clear-secret"
	DuplicateObject  Code = "duplicate-object"
	FluxVariable     Code = "flux-variable"
	UnappliedPatch   Code = "patch-not-applied"
	Tenancy          Code = "tenancy"
	NoTenant         Code = "no-tenant"
)

// manifestCodes documents what is found while manifests are read.
func manifestCodes() []CodeInfo {
	const leftOut = " The object is held, or left out if it has no last good version."
	const unused = " For a Secret, ConfigMap or Namespace that nothing uses it is a warning."
	return []CodeInfo{
		{EmptyInput, "A path that is named holds no manifest.",
			"A pipe may have failed, or the path is misspelt. render takes it for a mistake and writes nothing; sync " +
				"keeps what was rendered of the objects in it. If it is meant, use --allow-empty, or " +
				"limits.allowEmpty in the pipeline."},
		{UnreadableFile, "A file or folder cannot be read.",
			"Nobody knows what it holds, so no object that may be in it counts as deleted. Make it readable."},
		{FileTooLarge, "A file is larger than a manifest may be.",
			"It is not read, and no object that may be in it counts as deleted. Split it, or keep it out of the " +
				"paths that are read."},
		{SymlinkRefused, "A symbolic link leads out of the folder that is read, or in a circle.",
			"It is not followed. Put a copy of the file in its place, or name the link's target as a path of its own."},
		{PlainManifests, "A folder has a kustomization.yaml, but it is not built.",
			"build: plain is set, so the folder's files are read as plain manifests, and patches as objects. With " +
				"build: auto, the default, the kustomization is built."},
		{BuildFailed, "A kustomization cannot be built.",
			"None of its objects is read, and none counts as deleted: they are held, or left out if there are no " +
				"last good versions. Other kustomizations are built. kustomize's own words are not shown, as they " +
				"can hold values of Secrets: run kustomize build to see them."},
		{BuildRefused, "A kustomization needs what agentry does not do while it builds: read bases from other " +
			"machines or anything outside of the repository, or run plugins.",
			"None of its objects is read, as if it could not be built. Put a copy of what it needs into the " +
				"repository."},
		{NotUTF8, "A document holds bytes that are not UTF-8.",
			"The document is left out, and no object that may be in it counts as deleted. Save the file as UTF-8."},
		{InvalidYAML, "A document is not valid YAML or JSON.",
			"The document is left out, and no object that may be in it counts as deleted. The other documents of the " +
				"file are read."},
		{DuplicateKey, "A key occurs twice in one mapping.",
			"Nobody can know which one is meant, so the document is left out. Remove one of them."},
		{BooleanKey, "A key such as on, y or no is a boolean in the YAML of Kubernetes.",
			"It is read as the string true or false, as a cluster would read it. Put it into quotes."},
		{TooComplex, "A document is nested too deep or, with its aliases expanded, too large.",
			"The document is left out. Write it without so many aliases, or split it."},
		{TooManyDocuments, "A file has too many documents, or a list has too many items.",
			"Those above the limit are left out, and no object that may be in them counts as deleted. Split the file."},
		{NotAnObject, "A document looks like a Kubernetes object but does not say of which kind.",
			"It is left out, and no object that may be in it counts as deleted. Set apiVersion and kind."},
		{UnknownKind, "agentry reads the API group of an object, but not its kind or version.",
			"An error if it is clear which kind is meant, as ServiceMonitors or monitoring.coreos.com/v1beta1: a " +
				"cluster would refuse it, and no object that may be in the document counts as deleted. Otherwise a " +
				"warning, and the object is ignored. A ScrapeConfig is read only in compatibility mode current."},
		{UnknownField, "A field is not in the kind's CRD.",
			"It is most likely a typo, and without it the object would mean something else, so kubectl refuses it as " +
				"well." + leftOut + " Check its spelling and its place. With unknownFields: warn in the pipeline, or " +
				"--unknown-fields warn, it is a warning, and the object is rendered without the field."},
		{InvalidField, "A field has the wrong type or a value that the kind's CRD does not allow.",
			"The API server would refuse the object." + leftOut},
		{InvalidMetadata, "A name, namespace, label or annotation is not one that Kubernetes allows.",
			"The API server would refuse the object." + leftOut + unused},
		{MissingNamespace, "An object has no namespace, and no default namespace is set.",
			"Without one nobody knows what the object belongs to." + leftOut},
		{DefaultNamespace, "A monitor without a namespace looks for its targets in the default namespace.",
			"Without a namespaceSelector a monitor looks in its own namespace, and that is the default namespace of " +
				"the pipeline. If the targets are elsewhere, none are found: set metadata.namespace or the " +
				"namespaceSelector."},
		{InvalidSecret, "The data of a Secret or ConfigMap cannot be read.",
			"The API server would refuse the object. The message never shows the data." + leftOut + unused},
		{EncryptedSecret, "The value of an encrypted object is needed, and is not known.",
			"Under the secrets policy reference no value of a Secret is needed. Under the others one that SOPS " +
				"encrypted is decrypted with the keys that the pipeline names; the value of a SealedSecret or an " +
				"ExternalSecret is only in the cluster. An encrypted value in an object of another kind is always an " +
				"error." + leftOut},
		{ClearSecret, "A Secret that is not encrypted would be passed through.",
			"Under the secrets policy reference no secret gets to the output in clear, whatever passThrough.kinds " +
				"says. Encrypt it with SOPS, or make it a SealedSecret or an ExternalSecret; or allow it by a rule " +
				"in secrets.rules. The same goes for an object into which a build put values of a Secret." + leftOut},
		{EncryptedFile, "Files are encrypted with git-crypt.",
			"They are left out, and reported once for each source, as an information; in a kustomization that names " +
				"one, it is an error. Nobody knows what they hold, so no object that may be in them counts as " +
				"deleted. Hide what is no manifest with .sourceignore."},
		{DuplicateObject, "Two documents define the same object.",
			"Nobody can know which one is meant, so neither is used; the last good version stays. Remove one of " +
				"them. Namespaces with the same labels are one." + unused},
		{UnappliedPatch, "A patch stands where no kustomization names it.",
			"A strategic merge patch with directives such as $patch, or a JSON patch (RFC 6902), changes an object " +
				"that stands elsewhere. It is not read as an object, and changes nothing until a kustomization names " +
				"it in its patches. If it is for another program, hide it with .sourceignore. With build: plain no " +
				"kustomization is built, and every patch is one that changes nothing." + leftOut},
		{FluxVariable, "A variable such as ${CLUSTER} stands in a field, and nothing replaces it.",
			"Flux replaces such variables when it applies a Kustomization with spec.postBuild. agentry reads the " +
				"file as it is, so the field would hold the variable's name. Write the value. If it is meant as " +
				"text, annotate the object with kustomize.toolkit.fluxcd.io/substitute: disabled, as Flux needs it, " +
				"too."},
	}
}
