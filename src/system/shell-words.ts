// Quotes command lines for the operator's shell: PowerShell on Windows, a POSIX shell elsewhere.

/** Quotes a word for the shell, if necessary. */
export function quoteForShell(word: string, platform = process.platform): string {
  const isPlain = platform === 'win32' ? /^[\w:\\./-]+$/ : /^[\w@%+=:,./-]+$/;
  return isPlain.test(word) ? word : quote(word, platform);
}

/** Returns the line that sets environment variables for the following commands. */
export function setVariables(
  values: Readonly<Record<string, string>>,
  platform = process.platform,
): string {
  const entries = Object.entries(values);
  if (platform === 'win32')
    return entries.map(([name, value]) => `$env:${name} = ${quote(value, platform)}`).join('; ');
  return `export ${entries.map(([name, value]) => `${name}=${quoteForShell(value, platform)}`).join(' ')}`;
}

/** Returns the line that removes an environment variable. */
export function unsetVariable(name: string, platform = process.platform): string {
  return platform === 'win32' ? `Remove-Item Env:${name}` : `unset ${name}`;
}

/** Quotes a word. PowerShell treats typographic quotes like straight quotes. */
function quote(word: string, platform: NodeJS.Platform): string {
  return platform === 'win32'
    ? `'${word.replace(/['‘’‚‛]/g, '$&$&')}'`
    : `'${word.replaceAll("'", "'\\''")}'`;
}
