import { cut, oneLine, plainText } from '../words.ts';

/** A line of a transcript is bounded by its writer; what is longer is no transcript. */
const MOST_LINE_BYTES = 8 * 1024 * 1024;
const INPUT_CHARS = 200;
const OUTPUT_LINES = 8;

type Fields = Readonly<Record<string, unknown>>;

/** Turns the bytes of a `transcript.jsonl` into text for people, whole lines at a time. */
export class TranscriptText {
  #rest: Buffer[] = [];
  #restBytes = 0;

  push(chunk: Buffer): string {
    let text = '';
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      text += wordsOf(Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString('utf8'));
      this.#rest = [];
      this.#restBytes = 0;
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    if (rest.length > 0 && this.#restBytes < MOST_LINE_BYTES) this.#rest.push(rest);
    this.#restBytes += rest.length;
    return text;
  }
}

function wordsOf(line: string): string {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? eventText(event as Fields) : '';
  } catch {
    // Cut by its limit, or by a crash of the runner.
    return '';
  }
}

function eventText(event: Fields): string {
  switch (event['t']) {
    case 'message':
      return messageText(event);
    case 'toolStart':
      return `> ${oneLine(textOf(event['name']))} ${cut(oneLine(textOf(event['input'])), INPUT_CHARS)}\n`;
    case 'toolEnd':
      return toolEndText(event);
    case 'retry':
      return `! retry ${textOf(event['attempt'])}: ${oneLine(textOf(event['reason']))}\n`;
    case 'permission':
      return `? ${oneLine(textOf(event['tool']))}: ${oneLine(textOf(event['answer']))}\n`;
    case 'note':
      return `# ${oneLine(textOf(event['text']))}\n`;
    case 'truncated':
      return '# the transcript was cut here: it had reached its limit\n';
    default:
      return '';
  }
}

/** What the agent was told is not kept, only how long it was. */
function messageText({ text }: Fields): string {
  if (typeof text === 'string') return `${plainText(text).trimEnd()}\n`;
  const chars = typeof text === 'object' && text !== null ? (text as Fields)['chars'] : undefined;
  return `[a message of ${textOf(chars)} characters to the agent]\n`;
}

function toolEndText({ name, ok, output }: Fields): string {
  const lines = plainText(textOf(output)).trimEnd().split('\n');
  const shown = lines.slice(0, OUTPUT_LINES).map((line) => `  ${line}`);
  const hidden = lines.length - shown.length;
  if (hidden > 0) shown.push(`  (${hidden} more lines)`);
  return `< ${oneLine(textOf(name))}${ok === false ? ' failed' : ''}\n${lines.join('') === '' ? '' : `${shown.join('\n')}\n`}`;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}
