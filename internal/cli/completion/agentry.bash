# bash completion for agentry
_agentry() {
  local current="${COMP_WORDS[COMP_CWORD]}" value
  if [[ $current == = ]]; then current=; fi
  COMPREPLY=()
  while IFS=$'\t' read -r value _; do
    COMPREPLY+=("$value")
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -o bashdefault -o default -F _agentry agentry
