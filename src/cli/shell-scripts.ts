// The completion scripts. They are small, because they call fleet for every completion.

import { CALLBACK, type Shell } from './shells.js';

/**
 * bash also splits words at = and :. The script therefore passes the whole line to fleet. It then
 * removes from each completion the part that bash treats as an earlier word. Descriptions are shown
 * only when there are several completions, because bash would insert a single completion together
 * with its description.
 */
const BASH = `# Completion of fleet for bash. It asks fleet itself what fits.
_fleet_complete() {
  local line last value head width typed
  local -a offers=()
  COMPREPLY=()
  while IFS='' read -r line; do
    offers+=("$line")
  done < <(fleet ${CALLBACK} --line "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  (( \${#offers[@]} > 0 )) || return
  last=\${offers[\${#offers[@]}-1]}
  unset "offers[\${#offers[@]}-1]"

  typed=\${COMP_LINE:0:COMP_POINT}
  typed=\${typed##*[[:space:]]}
  head=''
  case $typed in
    *[=:]*) head=\${typed%"\${typed##*[=:]}"} ;;
  esac
  [[ $COMP_WORDBREAKS == *=* ]] || head=''

  width=\${COLUMNS:-80}
  for line in "\${offers[@]}"; do
    value=\${line%%$'\\t'*}
    value=\${value#"$head"}
    # Inside quotes, bash inserts the word as it is.
    case \${COMP_WORDS[COMP_CWORD]} in
      [\\"\\']*) ;;
      *) value=\${value// /\\\\ } ;;
    esac
    # 37 and 42 put every offer into the line, one after the other.
    if [[ $line == *$'\\t'* ]] && (( \${#offers[@]} > 1 && COMP_TYPE != 37 && COMP_TYPE != 42 )); then
      value="$value  (\${line#*$'\\t'})"
      value=\${value:0:width-2}
    fi
    COMPREPLY+=("$value")
  done
  if [[ $last == *files* ]]; then
    compopt -o filenames 2>/dev/null
    while IFS='' read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]#=}")
  fi
  if [[ $last == *nospace* ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -o nosort -F _fleet_complete fleet 2>/dev/null || complete -F _fleet_complete fleet
`;

/**
 * The script works in two ways: as a file in zsh's fpath (\`_fleet\`), and as a file that .zshrc
 * sources.
 */
const ZSH = `#compdef fleet
# Completion of fleet for zsh. It asks fleet itself what fits.
_fleet() {
  local line last value
  local -a lines offers more
  lines=("\${(@f)$(fleet ${CALLBACK} -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#lines} )) || return 1
  last=\${lines[-1]}
  lines[-1]=()
  for line in "\${lines[@]}"; do
    value=\${line%%$'\\t'*}
    value=\${value//:/\\\\:}
    if [[ $line == *$'\\t'* ]]; then
      offers+=("$value:\${line#*$'\\t'}")
    else
      offers+=("$value")
    fi
  done
  if [[ $last == *nospace* ]]; then
    more=(-S '')
  fi
  if [[ $last == *files* ]]; then
    compset -P '-*='
    _files
  elif (( \${#offers} )); then
    _describe -V 'fleet' offers "\${more[@]}"
  fi
}
if [[ \${funcstack[1]} == _fleet ]]; then
  _fleet "$@"
else
  compdef _fleet fleet
fi
`;

const FISH = `# Completion of fleet for fish. It asks fleet itself what fits.
function __fleet_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (fleet ${CALLBACK} -- $words[2..-1] 2>/dev/null)
    if test (count $lines) -eq 0
        return
    end
    if test (count $lines) -gt 1
        printf '%s\\n' $lines[1..-2]
    end
    if string match -q '*files*' -- $lines[-1]
        __fish_complete_path (commandline -ct)
    end
end
complete -c fleet -e
complete -c fleet -f -k -a '(__fleet_complete)'
`;

/**
 * Passes the line with bash quoting, because Windows PowerShell drops empty arguments and double
 * quotes. When no completion matches, the script returns '', because PowerShell would otherwise
 * complete file names. The script is pure ASCII, because Windows PowerShell reads scripts in the
 * old code page.
 */
const POWERSHELL = `# Completion of fleet for PowerShell. It asks fleet itself what fits.
Register-ArgumentCompleter -Native -CommandName fleet -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $end = 0
    $words = @(foreach ($element in $commandAst.CommandElements) {
        $extent = $element.Extent
        if ($extent.StartOffset -ge $cursorPosition) { break }
        $end = $extent.EndOffset
        if ($end -gt $cursorPosition) {
            $extent.Text.Substring(0, $cursorPosition - $extent.StartOffset).TrimStart([char]34, [char]39)
        } elseif ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
            $element.Value
        } else {
            $extent.Text
        }
    })
    if ($end -lt $cursorPosition) { $words += '' }
    $typed = $words[-1]
    $quoted = foreach ($word in $words) { "'" + $word.Replace('"', '').Replace("'", "'\\''") + "'" }
    $encoding = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [System.Text.Encoding]::UTF8
        $lines = @(fleet ${CALLBACK} --line ($quoted -join ' ') 2>$null)
    } finally {
        [Console]::OutputEncoding = $encoding
    }
    if ($lines.Count -eq 0) { return }
    if ($lines[-1] -match 'files') {
        $head = if ($typed -match '^-[^=]*=') { $Matches[0] } else { '' }
        foreach ($file in [System.Management.Automation.CompletionCompleters]::CompleteFilename($typed.Substring($head.Length))) {
            [System.Management.Automation.CompletionResult]::new($head + $file.CompletionText, $file.ListItemText, $file.ResultType, $file.ToolTip)
        }
        return
    }
    if ($lines.Count -eq 1) { return '' }
    # Behind a comma PowerShell completes what follows it alone.
    $head = if ($typed.EndsWith($wordToComplete)) { $typed.Substring(0, $typed.Length - $wordToComplete.Length) } else { '' }
    foreach ($line in $lines[0..($lines.Count - 2)]) {
        $value, $description = $line.Split([char]9)
        if ($value.StartsWith($head)) { $value = $value.Substring($head.Length) }
        if (-not $value) { continue }
        if (-not $description) { $description = $value }
        $text = if ($value -match '^[\\w./:=-]+$') { $value } else { "'" + $value.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $description)
    }
}
`;

export const SCRIPTS: { readonly [Name in Shell]: string } = {
  bash: BASH,
  zsh: ZSH,
  fish: FISH,
  powershell: POWERSHELL,
};
