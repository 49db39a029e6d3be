import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Names that a source file exports, types too. Knows the ways in which our index files are written. */
export function exportedNames(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const names = new Set<string>();
  for (const [, list = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)) {
    for (const item of list.split(',')) {
      const name = item
        .trim()
        .replace(/^type /, '')
        .replace(/^.* as /, '');
      if (name !== '') names.add(name);
    }
  }
  const declared = /^export (?:declare |abstract |async )*(?:interface|type|const|function\*?|class) (\w+)/gm;
  for (const [, name = ''] of text.matchAll(declared)) names.add(name);
  for (const [, from = ''] of text.matchAll(/^export (?:type )?\* from '([^']+)'/gm)) {
    for (const name of exportedNames(resolve(dirname(path), from))) names.add(name);
  }
  return names;
}
