/** Settings of exports. Part of the table in settings.ts. */
export const exportSettings = {
  exportKeepDays: {
    env: 'MILLRACE_EXPORT_KEEP_DAYS',
    type: 'integer',
    default: 7,
    min: 0,
    max: 3650,
    help: 'Days that the files of an export are kept in the service after it ends.',
  },
  exportDiskBudget: {
    env: 'MILLRACE_EXPORT_DISK_BUDGET',
    type: 'integer',
    default: 0,
    min: 0,
    max: 1_125_899_906_842_624,
    help: 'Maximum bytes of all exports that the service keeps; beyond it they fail. 0 for no limit except that 1 GiB of the disk stays free.',
  },
} as const;
