/** What processes on one machine share: who owns what, and whether they are still there. */
export * from './light.ts';
export { type Holder, type Lease, type Taken, takeLease } from './lease.ts';
export { type LeaseRecord, hostJsonSchemas } from './lease-record.ts';
export { Leases } from './leases.ts';
