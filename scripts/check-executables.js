// Checks the executables that Bun made: `node scripts/check-executables.js LINUX WINDOWS`. Both must be
// programs for x64 and contain the same files. Nothing is started, so the check works on any platform.

import { readFileSync } from 'node:fs';

const X64_OF_ELF = 0x3e;
const X64_OF_PE = 0x8664;
const PE32_PLUS = 0x20b;
const CONSOLE_PROGRAM = 3;

/** Throws when the file is not a complete ELF program for x64. */
function checkLinuxProgram(bytes) {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 4) !== '\x7fELF')
    throw new Error('it is not an ELF file');
  const machine = bytes.readUInt16LE(18);
  if (machine !== X64_OF_ELF) throw new Error(`it is for machine ${hex(machine)}, not for x64`);
}

/** Throws when the file is not a complete console program of Windows for x64. */
function checkWindowsProgram(bytes) {
  if (bytes.toString('latin1', 0, 2) !== 'MZ') throw new Error('it is not a Windows executable');
  const header = bytes.length < 64 ? bytes.length : bytes.readUInt32LE(0x3c);
  if (bytes.toString('latin1', header, header + 4) !== 'PE\0\0')
    throw new Error('the PE header is missing');
  const machine = bytes.readUInt16LE(header + 4);
  if (machine !== X64_OF_PE) throw new Error(`it is for machine ${hex(machine)}, not for x64`);
  const optionalHeader = header + 24;
  if (bytes.readUInt16LE(optionalHeader) !== PE32_PLUS)
    throw new Error('it is not a 64-bit (PE32+) executable');
  if (bytes.readUInt16LE(optionalHeader + 68) !== CONSOLE_PROGRAM)
    throw new Error('it is not a console program');
  checkSections(bytes, header, optionalHeader);
}

/** Throws when a section reaches beyond the end of the file, or no section has the first instruction. */
function checkSections(bytes, header, optionalHeader) {
  const count = bytes.readUInt16LE(header + 6);
  const table = optionalHeader + bytes.readUInt16LE(header + 20);
  const entryPoint = bytes.readUInt32LE(optionalHeader + 16);
  let hasEntryPoint = false;
  for (let index = 0; index < count; index += 1) {
    const section = table + index * 40;
    const name = bytes.toString('latin1', section, section + 8).replace(/\0+$/, '');
    const memorySize = bytes.readUInt32LE(section + 8);
    const address = bytes.readUInt32LE(section + 12);
    const size = bytes.readUInt32LE(section + 16);
    const offset = bytes.readUInt32LE(section + 20);
    if (offset + size > bytes.length)
      throw new Error(`it is cut off: the section ${name} reaches beyond its end`);
    if (entryPoint >= address && entryPoint < address + memorySize) hasEntryPoint = true;
  }
  if (!hasEntryPoint) throw new Error('its entry point is in no section');
}

/** Bun writes the paths of the embedded files directly before this line. */
const END_OF_PATHS = '\n---- Bun! ----\n';
/** Far more than the paths need. The runtime itself contains texts that look like such paths. */
const MOST_BYTES_OF_PATHS = 65_536;

/** The folders under which Bun embeds files, on Windows and elsewhere. A NUL ends each path. */
const EMBEDDED_PATH = /(?:\/\$bunfs|B:\/~BUN)\/root\/([\w.-]+)\0/g;

/**
 * Returns the sorted names of the embedded files. The names of the program and of its parts differ
 * between platforms, so they are unified.
 */
function listEmbeddedFiles(bytes) {
  const end = bytes.lastIndexOf(END_OF_PATHS);
  if (end === -1) throw new Error('it contains no files of fleet');
  const paths = bytes.toString('latin1', Math.max(0, end - MOST_BYTES_OF_PATHS), end);
  const names = new Set();
  for (const [, name] of paths.matchAll(EMBEDDED_PATH)) {
    const unified = name
      .replace(/^fleet(?:\.exe)?$/, 'fleet')
      .replace(/^fleet-\w+\.js$/, 'fleet-*.js');
    names.add(unified);
  }
  return [...names].sort();
}

function hex(number) {
  return `0x${number.toString(16)}`;
}

function inspect(path, checkProgram) {
  try {
    const bytes = readFileSync(path);
    checkProgram(bytes);
    return listEmbeddedFiles(bytes);
  } catch (error) {
    throw new Error(`${path} is not a valid executable: ${error.message}`, { cause: error });
  }
}

function checkExecutables(linuxPath, windowsPath) {
  const linuxFiles = inspect(linuxPath, checkLinuxProgram);
  const windowsFiles = inspect(windowsPath, checkWindowsProgram);
  const missing = [
    ...linuxFiles.filter((name) => !windowsFiles.includes(name)).map((name) => [windowsPath, name]),
    ...windowsFiles.filter((name) => !linuxFiles.includes(name)).map((name) => [linuxPath, name]),
  ];
  if (missing.length > 0)
    throw new Error(missing.map(([path, name]) => `${path} does not contain ${name}`).join('; '));
  return linuxFiles.length;
}

const [linuxPath, windowsPath] = process.argv.slice(2);
if (windowsPath === undefined) {
  process.stderr.write('usage: node scripts/check-executables.js LINUX WINDOWS\n');
  process.exitCode = 2;
} else {
  try {
    const count = checkExecutables(linuxPath, windowsPath);
    process.stdout.write(`both executables are for x64 and contain the same ${count} files\n`);
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
