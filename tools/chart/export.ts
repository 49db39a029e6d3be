import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machines } from '../../machines/index.ts';
import { FORMATS, renderAll } from './render.ts';

/** `npm run diagrams`: writes every machine into `diagrams/` of the project it is started in. */

const folder = join(process.cwd(), 'diagrams');
const files = await renderAll(machines);
await mkdir(folder, { recursive: true });
await Promise.all([...files].map(([name, content]) => writeFile(join(folder, name), content)));

// Files of machines that are no more.
const isOurs = (name: string): boolean => FORMATS.some((format) => name.endsWith(`.${format}`));
const left = (await readdir(folder)).filter((name) => isOurs(name) && !files.has(name));
await Promise.all(left.map((name) => rm(join(folder, name))));

process.stdout.write(`diagrams: ${files.size} files written${left.length > 0 ? `, ${left.join(', ')} removed` : ''}\n`);
