// A leaf: lines to paste into the operator's shell, PowerShell on Windows and a POSIX shell elsewhere.

/** The word as the shell takes it. */
export function quoteForShell(word: string, platform = process.platform): string {
  const isPlain = platform === 'win32' ? /^[\w:\\./-]+$/ : /^[\w@%+=:,./-]+$/;
  return isPlain.test(word) ? word : quote(word, platform);
}

/** The line that sets variables of the environment for the commands after it. */
export function setVariables(
  values: Readonly<Record<string, string>>,
  platform = process.platform,
): string {
  const entries = Object.entries(values);
  if (platform === 'win32')
    return entries.map(([name, value]) => `$env:${name} = ${quote(value, platform)}`).join('; ');
  return `export ${entries.map(([name, value]) => `${name}=${quoteForShell(value, platform)}`).join(' ')}`;
}

/** The line that takes one away. */
export function unsetVariable(name: string, platform = process.platform): string {
  return platform === 'win32' ? `Remove-Item Env:${name}` : `unset ${name}`;
}

/** PowerShell takes curly quotes for straight ones. */
function quote(word: string, platform: NodeJS.Platform): string {
  return platform === 'win32'
    ? `'${word.replace(/['‘’‚‛]/g, '$&$&')}'`
    : `'${word.replaceAll("'", "'\\''")}'`;
}
