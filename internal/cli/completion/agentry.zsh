#compdef agentry
compdef _agentry agentry
_agentry() {
  local -a answers
  local tab=$'\t'
  answers=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)}")
  answers=("${(@)answers//:/\\:}")
  answers=("${(@)answers/$tab/:}")
  if [[ -n "${answers[1]}" ]]; then _describe agentry answers; else _files; fi
}
# In a folder of fpath, this file is the body of the function when it is called first.
if [[ "${funcstack[1]}" == _agentry ]]; then _agentry "$@"; fi
