# fish completion for agentry
function __agentry_complete
    set -l words (commandline -opc)
    $words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c agentry -f -n 'test -n "$(__agentry_complete)"' -a '(__agentry_complete)'
complete -c agentry -F -n 'test -z "$(__agentry_complete)"'
