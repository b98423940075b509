"""The pages and pictures of docs/ that show our figures beside the published ones."""
