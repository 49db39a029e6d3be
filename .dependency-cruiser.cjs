// The house plan as import rules (docs/architecture.md). Checked in CI; test/house.real.test.ts plants violations.
const rooms = 'agents|bus|host|inbox|mailbox|nest|observe|plan|process|quality|record|workspace';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'machines-are-pure',
      severity: 'error',
      from: { path: '^machines/' },
      to: { pathNot: '^machines/|(^|/)node_modules/xstate/|^xstate' },
    },
    {
      name: 'cli-uses-the-library',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^(src|machines)/', pathNot: '^src/(cli/|index\\.ts$|client\\.ts$)' },
    },
    {
      name: 'rooms-keep-their-insides',
      severity: 'error',
      from: { path: `^src/(${rooms})/` },
      to: { path: `^src/(${rooms})/`, pathNot: '^src/($1)/|/(index|light)\\.ts$' },
    },
    {
      name: 'rooms-do-not-know-the-runtime',
      severity: 'error',
      from: { path: `^src/(${rooms})/` },
      to: { path: '^src/runtime/' },
    },
    {
      name: 'the-client-stays-light',
      severity: 'error',
      from: { path: '^src/client\\.ts$' },
      to: { reachable: true, path: '(^|/)node_modules/(xstate|execa|zod|chokidar|liquidjs|yaml)/' },
    },
    {
      name: 'no-dev-deps-in-product',
      severity: 'error',
      from: { path: '^(src|machines)/' },
      // Of the protocol's package the types only, which are not there any more when it runs (`import type`).
      to: { dependencyTypes: ['npm-dev'], pathNot: '(^|/)node_modules/@agentclientprotocol/sdk/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
