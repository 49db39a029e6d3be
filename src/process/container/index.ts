// What a process tree can be put into so that it cannot leave: control groups and process id namespaces.
export type { Opened } from './cgroup.ts';
export { GATE_FD } from './enter.ts';
export {
  probeAnew,
  probeContainment,
  type CgroupMeans,
  type Containment,
  type PidnsMeans,
  type Unavailable,
} from './probe.ts';
export type { Container, ContainerKind, Inside } from './types.ts';
