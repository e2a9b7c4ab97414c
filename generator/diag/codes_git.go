package diag

// Codes of a pass from Git to Git.
const (
	SourceUnreachable    Code = "source-unreachable"
	ChartUnreachable     Code = "chart-unreachable"
	ChartChanged         Code = "chart-changed"
	ChartUnverified      Code = "chart-unverified"
	ChartLookup          Code = "chart-lookup"
	OtherRevision        Code = "other-revision"
	CommitUnsigned       Code = "commit-unsigned"
	CommitUntrusted      Code = "commit-untrusted"
	SourcePathMissing    Code = "source-path-missing"
	VanishedHeld         Code = "vanished-held"
	ImmutableField       Code = "immutable-field"
	Drift                Code = "drift"
	DeletionGuard        Code = "deletion-guard"
	AdoptionRefused      Code = "adoption-refused"
	OutputContested      Code = "output-contested"
	AdoptionCollision    Code = "adoption-collision"
	NoteRefused          Code = "note-refused"
	SubmoduleRefused     Code = "submodule-refused"
	LFSPointer           Code = "lfs-pointer"
	SourceIgnoreUnusable Code = "source-ignore-unusable"
	SecretsHeld          Code = "secrets-held"
	SecretsInHistory     Code = "secrets-in-history"
	OtherSealKey         Code = "other-hmac-key"
	InlinedSecretChanged Code = "inlined-secret-changed"
)

// chartCodes documents what is found while charts are looked up.
func chartCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    ChartUnreachable,
			Summary: "The repository of a chart could not be asked which version is meant now.",
			Help: "The version that was rendered last goes on, and the repository is asked again after a minute. " +
				"Check its URL, the network and the credentials in `charts.repositories`. " +
				"A chart that was never rendered, or is not in the cache either, is an error of what needs it " +
				"(build-failed).",
		},
		{
			Code:    ChartChanged,
			Summary: "A repository gives another archive for a version of a chart that was rendered before.",
			Help: "The archive that was rendered goes on. Somebody replaced a published version, by mistake or on " +
				"purpose: ask its owner. " +
				"If the new archive is right, take the next version, or write the same one in another way (`=1.2.0` " +
				"for `1.2.0`): that is looked up anew.",
		},
		{
			Code:    ChartUnverified,
			Summary: "A new version of a chart is not signed as charts.verify demands.",
			Help: "The version that was rendered last goes on, and the signature is looked for again after a minute. " +
				"Ask the owner of the chart to sign the version. If the owner has a new key, add it to the file that " +
				"`charts.verify` names. " +
				"A chart without such a version is an error of what needs it (build-failed), and its objects are held.",
		},
	}
}

// sourceCodes documents what is found while input commits are read.
func sourceCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    SourceUnreachable,
			Summary: "A source repository could not be reached.",
			Help: "The pass uses the commit of that source that the output branch was last rendered from, so nothing " +
				"is deleted. " +
				"At a first pass there is no such commit, and the pass stops. Check the URL, the network and the " +
				"credentials.",
		},
		{
			Code:    CommitUnsigned,
			Summary: "An input commit has no signature, and the source accepts signed commits only.",
			Help: "It is not rendered. The pass uses the commit of that source that was rendered last; at a first " +
				"pass there is none, and the pass stops. " +
				"Sign the commit (`git commit -S`), or put a signed one on top of it: only the commit that a ref " +
				"points to is checked.",
		},
		{
			Code:    CommitUntrusted,
			Summary: "An input commit is signed by a key that the source does not accept.",
			Help: "It is not rendered. The pass uses the commit of that source that was rendered last; at a first " +
				"pass there is none, and the pass stops. " +
				"If you trust the key that is named, add it to `sources[].verify`. A forge signs the merges that it " +
				"makes with a key of its own.",
		},
		{
			Code:    SourcePathMissing,
			Summary: "A path that the pipeline names is not in the source at that commit.",
			Help: "Nothing is read from it, and nothing counts as deleted because of it. Correct " +
				"`sources[].paths`, or create the folder.",
		},
		{
			Code:    VanishedHeld,
			Summary: "An object is missing while a file is unreadable, and its last good version is not known.",
			Help: "A broken file is not a deletion: the folders of the units that used the object " +
				"are left unchanged. " +
				"Repair the file. If the object was meant to be deleted, the next pass deletes it.",
		},
		{
			Code:    SubmoduleRefused,
			Summary: "A submodule is at a path that is read.",
			Help: "It is not followed, and no object that may be in it counts as deleted. Add the other " +
				"repository as a source of its own.",
		},
		{
			Code:    LFSPointer,
			Summary: "A manifest is a Git LFS pointer: its content is not in the repository.",
			Help: "It counts as an unreadable file, so nothing that it held before counts as deleted. Store " +
				"manifests as plain files: " +
				"`git lfs untrack` their pattern, then `git add --renormalize .` and commit. List files that are not " +
				"manifests in `.sourceignore`.",
		},
		{
			Code:    SourceIgnoreUnusable,
			Summary: "A .sourceignore is larger than 64 KiB, has more than 1,000 patterns, or is a Git LFS pointer.",
			Help: "Nobody can know what it hides, so nothing below its folder is read, and nothing there counts as " +
				"deleted. " +
				"Shorten it, or name the folders to read in `sources[].paths`.",
		},
	}
}

// outputCodes documents what is found while the output branch is written.
func outputCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    ImmutableField,
			Summary: "The render changes a field that nobody may change on an existing object in Kubernetes.",
			Help: "Flux and Argo CD could not apply it, nor anything else with it. So the GrafanaAgent's last good " +
				"version " +
				"stays in effect; if another object causes the change, the unit's folder is left unchanged. Revert " +
				"the change, or first delete the workload in the cluster and its file on the output branch.",
		},
		{
			Code:    Drift,
			Summary: "Somebody else changed or removed a file that agentry owns on the output branch.",
			Help:    "It is restored. Change the custom resources instead, or put your file outside of agentry's path.",
		},
		{
			Code: DeletionGuard,
			Summary: "The commit would take away more units, workloads, selected objects or scrape jobs than " +
				"`limits.deletions` allows.",
			Help: "Nothing is pushed. If the deletion is meant, allow it for exactly this input commit: " +
				"`--allow-deletions COMMIT`, " +
				"`limits.allowFor: COMMIT` in the pipeline file, or the trailer `Agentry-Allow-Deletions: true` in " +
				"that commit's message.",
		},
		{
			Code:    AdoptionRefused,
			Summary: "The output path holds files, but no inventory of agentry.",
			Help: "Nothing is written. Choose another branch or path, or set `output.adopt: true` to write beside " +
				"the files that are there.",
		},
		{
			Code: OutputContested,
			Summary: "Another pipeline, or another specification of this one, writes to the same place of the same " +
				"branch.",
			Help: "Nothing is written, because the two would replace each other's output for ever. Run the pipeline " +
				"in one place, or give one of them another branch or path. " +
				"If this one was renamed, or is to take over the branch, set `output.adopt: true`.",
		},
		{
			Code:    AdoptionCollision,
			Summary: "A file that agentry has to write exists already, and agentry does not own it.",
			Help:    "Nothing is written. Move or delete the file that is named, or choose another branch or path.",
		},
		{
			Code:    InlinedSecretChanged,
			Summary: "A commit changes nothing but secrets in a configuration, which running agents ignore.",
			Help: "An agent ignores a reload in which only secrets changed, and uses the old ones. Restart the " +
				"workloads that are named " +
				"(`kubectl rollout restart`) when the commit is applied. Or set `secrets.restartOnChange: true` in " +
				"the pipeline, so that their pods are replaced " +
				"whenever such a secret changes.",
		},
		{
			Code: NoteRefused,
			Summary: "The server refused the git note that tells promotion tools which inputs a proposal is up to " +
				"date with.",
			Help: "The proposal is pushed without it. Allow pushes to `refs/notes/hydrator.metadata`, or delete " +
				"the ref if it cannot be extended. Ignore this if nothing reads the note.",
		},
	}
}

// writtenSecretCodes are about the secrets of the output branch.
func writtenSecretCodes() []CodeInfo {
	return []CodeInfo{
		{
			Code:    SecretsHeld,
			Summary: "A unit that is left unchanged holds secrets in clear, which the secrets policy no longer allows.",
			Help: "Nothing is written. Correct the unit's errors or unpause it, so that it is rendered again, or " +
				"keep the policy `plaintext`.",
		},
		{
			Code:    SecretsInHistory,
			Summary: "The output branch stops to hold secrets in clear, and its history still holds them.",
			Help: "It is a warning of the commit that follows a change of the secrets policy. Whoever can read the " +
				"repository can read the old commits. " +
				"Replace the secrets themselves, or write to a new repository and delete the old one.",
		},
		{
			Code:    OtherSealKey,
			Summary: "Encrypted Secrets of the output branch were written with another HMAC key than the pipeline has.",
			Help: "They are encrypted again. After a change of the key it is a warning of one commit. If it comes " +
				"again and again, two replicas have " +
				"different keys and encrypt in turn: give them the same `secrets.sops.hmacKeyFile`.",
		},
	}
}

// buildCodes documents what is found while charts and custom resources of Flux and Argo CD are built.
func buildCodes() []CodeInfo {
	return []CodeInfo{
		{ChartLookup, "The template of an object of a chart asks the cluster for objects (lookup).",
			"There is no cluster while agentry renders, so lookup finds nothing, as in helm template. In the " +
				"cluster, the object may be another one. Set the values of the chart that make it ask for nothing, " +
				"or accept the warning if the answer does not matter."},
		{OtherRevision, "A custom resource of Flux or Argo CD names another branch, tag or commit than the pipeline " +
			"reads.",
			"agentry builds the commit that it reads: a pipeline reads one ref of each repository. Correct the " +
				"targetRevision, the revision of the git generator or the GitRepository's ref, or the ref of the " +
				"source in the pipeline. Where both are meant, one URL can be two sources with names of their own, " +
				"and sourceRefs says which one a GitRepository is."},
	}
}
