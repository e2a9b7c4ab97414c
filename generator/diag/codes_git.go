package diag

// Codes of a pass from Git to Git.
const (
	SourceUnreachable    Code = "source-unreachable"
	CommitUnsigned       Code = "commit-unsigned"
	CommitUntrusted      Code = "commit-untrusted"
	SourcePathMissing    Code = "source-path-missing"
	VanishedHeld         Code = "vanished-held"
	ImmutableField       Code = "immutable-field"
	Drift                Code = "drift"
	DeletionGuard        Code = "deletion-guard"
	AdoptionRefused      Code = "adoption-refused"
	AdoptionCollision    Code = "adoption-collision"
	NoteRefused          Code = "note-refused"
	SubmoduleRefused     Code = "submodule-refused"
	LFSPointer           Code = "lfs-pointer"
	SourceIgnoreUnusable Code = "source-ignore-unusable"
	SecretsHeld          Code = "secrets-held"
	InlinedSecretChanged Code = "inlined-secret-changed"
)

// sourceCodes documents what is found while input commits are read.
func sourceCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    SourceUnreachable,
			Summary: "A source repository could not be reached.",
			Help: "The pass goes on with the commit of that source that the output branch was last rendered from, so nothing is deleted. " +
				"Check the URL, the network and the credentials; at a first run there is no such commit and the pass stops.",
		},
		{
			Code:    CommitUnsigned,
			Summary: "An input commit has no signature, and the source accepts signed commits only.",
			Help: "It is not rendered: the pass goes on with the commit of that source that was rendered last; at a first run there is none and the pass stops. " +
				"Sign the commit (`git commit -S`), or put a signed one on top of it: only the commit that a ref points to is looked at.",
		},
		{
			Code:    CommitUntrusted,
			Summary: "An input commit is signed, and not by a key that the source accepts.",
			Help: "It is not rendered: the pass goes on with the commit of that source that was rendered last; at a first run there is none and the pass stops. " +
				"If the key that is named is to be trusted, add it to `sources[].verify`; a forge signs the merges that it makes with a key of its own.",
		},
		{
			Code:    SourcePathMissing,
			Summary: "A path that the pipeline names is not in the source at that commit.",
			Help:    "Nothing is read from it, and nothing counts as deleted on its account. Correct `sources[].paths`, or create the folder.",
		},
		{
			Code:    VanishedHeld,
			Summary: "An object is gone from every readable file while a file cannot be read, and nobody knows any more what it was.",
			Help: "A broken file is not a deletion: the units that used the object keep their folders. " +
				"Repair the file; if the object was meant to go, it goes with the next pass.",
		},
		{
			Code:    SubmoduleRefused,
			Summary: "A submodule is at a path that is read.",
			Help:    "It is not followed, and nothing that may come from it counts as deleted. Add the other repository as a source of its own.",
		},
		{
			Code:    LFSPointer,
			Summary: "A manifest is a pointer of Git LFS: its content is not in the repository.",
			Help: "It counts as a file that cannot be read, so nothing that it held before counts as deleted. Store manifests as plain files: " +
				"`git lfs untrack` their pattern, then `git add --renormalize .` and commit. A file that is no manifest goes into `.sourceignore`.",
		},
		{
			Code:    SourceIgnoreUnusable,
			Summary: "A .sourceignore is larger than 64 KiB, has more than 1,000 patterns, or is a pointer of Git LFS.",
			Help: "Nobody can tell what it hides, so nothing below its folder is read, and nothing there counts as deleted. " +
				"Shorten it, or name the folders to read in `sources[].paths`.",
		},
	}
}

// outputCodes documents what is found while the output branch is written.
func outputCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    ImmutableField,
			Summary: "The render changes a field that Kubernetes does not let anyone change on an existing object.",
			Help: "Flux and Argo CD would refuse it and everything applied with it, so the GrafanaAgent's last good version " +
				"stays in effect; if the change comes from elsewhere, the unit's folder stays as it was. Take the change back, or delete the workload in the cluster and its file on the output branch first.",
		},
		{
			Code:    Drift,
			Summary: "A file of ours was changed or removed on the output branch by someone else.",
			Help:    "It is put back. Change the custom resources instead, or take the file out of agentry's path.",
		},
		{
			Code:    DeletionGuard,
			Summary: "The commit would delete more units or workload objects than `limits.deletions` allows.",
			Help: "Nothing is pushed. If the deletion is meant, allow it for exactly this input commit: `--allow-deletions COMMIT`, " +
				"`limits.allowFor: COMMIT` in the pipeline file, or the trailer `Agentry-Allow-Deletions: true` in that commit's message.",
		},
		{
			Code:    AdoptionRefused,
			Summary: "The output path holds files, but no inventory of agentry.",
			Help:    "Nothing is written. Choose another branch or path, or set `output.adopt: true` to move in beside the files that are there.",
		},
		{
			Code:    AdoptionCollision,
			Summary: "A file that agentry would write exists already and is not agentry's.",
			Help:    "Nothing is written. Move or delete the file that is named, or choose another branch or path.",
		},
		{
			Code:    SecretsHeld,
			Summary: "A unit that stays as it is holds secrets in clear, which the secrets policy no longer allows.",
			Help:    "Nothing is written. Correct the unit's errors or unpause it, so that it is rendered anew, or keep the policy `plaintext`.",
		},
		{
			Code:    InlinedSecretChanged,
			Summary: "A commit changes nothing but secrets in a configuration, which the agents that run do not notice.",
			Help: "An agent ignores a reload in which only secrets changed, and goes on with the old ones. Restart the workloads that are named " +
				"(`kubectl rollout restart`) once the commit is applied, or set `secrets.restartOnChange: true` in the pipeline, and their pods are replaced " +
				"whenever such a secret changes.",
		},
		{
			Code:    NoteRefused,
			Summary: "The server refused the git note that tells promotion tools what a proposal is up to date with.",
			Help:    "What is proposed stands without it. Allow pushes to `refs/notes/hydrator.metadata`, delete the ref if it cannot be extended, or ignore this if nothing reads the note.",
		},
	}
}
