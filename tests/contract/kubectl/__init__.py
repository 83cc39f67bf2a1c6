"""kubectl itself as the judge: scripted sessions, recorded on a real server and compared with ours line by line."""
