/**
 * Whether a tool call may change something outside the agent: false only for tools that are known to read, plan or
 * talk; true for every other, and so for tools nobody here knows.
 *
 * A shell command counts as one that may, whatever it is: what a line of shell will do cannot be told by looking.
 * A tool is known by its name alone; an extension that gives one of these names to something else is not found out.
 */
export function mayChange(tool: string, input: unknown): boolean {
  const name = bare(tool);
  if (FETCHES.has(name)) return !fetchesOnly(input);
  return !HARMLESS.has(name);
}

/** The tools by which a value is handed in: that of the bundled extension of pi, and Claude Code's own. */
export const isSubmitTool = (name: string): boolean => bare(name) === 'structuredoutput';

// Names as pi, Claude Code, Codex, OpenCode and Gemini CLI have them, and the kinds of tools of the Agent Client Protocol.
const HARMLESS = named(`
  read read_file read_many_files notebook_read view
  grep grep_search search_file_content code_search tool_search
  find glob ls list list_directory list_files
  web_search google_web_search get_search_content
  todo todo_read todo_write write_todos todo_list update_plan plan enter_plan_mode exit_plan_mode
  ask_user ask_user_question question contact_supervisor intercom
  structured_output
  search think`);

/** They take an address, and some of them a method. */
const FETCHES = named('web_fetch fetch_content fetch');

function fetchesOnly(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || !('method' in input)) return true;
  return typeof input.method === 'string' && /^(?:get|head)$/i.test(input.method);
}

function named(names: string): ReadonlySet<string> {
  return new Set(names.trim().split(/\s+/).map(bare));
}

/** `TodoWrite`, `todo_write` and `todowrite` are the same. */
function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}
