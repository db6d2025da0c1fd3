/** Header with which the console marks requests that it sends on its own while the user gives no input. */
export const unattendedHeader = 'x-millrace-unattended';
