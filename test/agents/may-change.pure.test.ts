import { expect, test } from 'vitest';
import { mayChange } from '../../src/agents/index.ts';

const HARMLESS = `
  read grep find ls glob web_search web_fetch fetch_content get_search_content
  todo update_plan contact_supervisor structured_output
  Read TodoWrite WebSearch StructuredOutput read_file list_directory write_todos todowrite`;

test.each(HARMLESS.trim().split(/\s+/))('%s changes nothing', (tool) => {
  expect(mayChange(tool, { path: 'x' })).toBe(false);
  expect(mayChange(tool, null)).toBe(false);
});

test.each(['write', 'edit', 'bash', 'Bash', 'task', 'mcp__files__read', 'read_and_delete', 'toString', 'nobody', ''])(
  '%s may change something',
  (tool) => {
    expect(mayChange(tool, { command: 'ls' })).toBe(true);
  },
);

test('a fetch that sends something may change something', () => {
  expect(mayChange('web_fetch', { url: 'x', method: 'get' })).toBe(false);
  expect(mayChange('WebFetch', { url: 'x', method: 'POST' })).toBe(true);
  expect(mayChange('web_fetch', { method: 1 })).toBe(true);
});
