#compdef agentry
_agentry() {
  local -a answers
  local tab=$'\t'
  answers=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)}")
  answers=("${(@)answers//:/\\:}")
  answers=("${(@)answers/$tab/:}")
  if [[ -n "${answers[1]}" ]]; then _describe agentry answers; else _files; fi
}
compdef _agentry agentry
