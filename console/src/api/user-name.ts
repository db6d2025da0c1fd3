/** What a user is called: the name, else the address. */
export function userName(user: { readonly id: number; readonly first_name: string; readonly email: string }): string {
  return user.first_name || user.email || `User ${user.id}`;
}
